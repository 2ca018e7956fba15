// How busy the machine is.
#pragma once
#include <stdint.h>

namespace wisp {

// Threads of the whole machine that run or wait for a processor, the caller among them; -1: not
// known. The fourth field of /proc/loadavg, which is no average but a sum over the processors'
// queues now (Linux, fs/proc/loadavg.c, nr_running). Takes a system call (1.7 us where the
// cheapest takes 0.5). Any thread, on any stack.
int running_threads();
// Before, and if it fails (no /proc, no descriptor left), nothing is known. By one thread at a
// time.
void running_threads_open();
// The processors that are online, asked once. Any thread, on any stack.
int online_processors();

// How long all processors of the machine together have been idle since its start, in us; goes by 10
// ms. 0: not known. The second field of /proc/uptime. Any thread, on any stack.
uint64_t machine_idle_us();

// "0.00 0.01 0.05 2/100 4711" -> 2; -1: not of that form.
int parse_running(const char* loadavg);
// "12.34 56.78" -> 56'780'000; 0: not of that form.
uint64_t parse_idle(const char* uptime);

}  // namespace wisp
