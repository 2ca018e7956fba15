// The runtime's own descriptors among those of the program, which shall neither close them nor get
// their numbers: what is written to such a number later would go to a file of the program's.
#pragma once
#include <stdint.h>

namespace wisp {

// Two for each part of the event pump, and some.
constexpr int kMostOwnDescriptors = 96;

// For the process's life, or until it is taken out. One more than so many is not protected.
void own_descriptor_add(int fd);
void own_descriptor_remove(int fd);
// Any of first..last. Any thread, signal handlers included.
bool own_descriptor_in(int first, int last);

// How many the process may have (RLIMIT_NOFILE).
uint64_t descriptor_limit();

// A duplicate of fd out of the way of the program's numbers, or -errno. -1 where `others` of its
// kind take more than a 32nd of what the process may have: for those that can be done without.
int high_duplicate(int fd, uint32_t others = 0);
// The same file there, `fd` closed; stays where it is if there is no room. Errors pass through.
int move_up(int fd);

}  // namespace wisp
