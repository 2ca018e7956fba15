// What early_module.c has done in its constructor. ld.so runs that before a preloaded library's, as
// it does with what other preloaded libraries bring along.
#pragma once
#include <pthread.h>
#include <semaphore.h>

// Without WAITERS. At rest, used by libc:
extern pthread_rwlock_t early_wrote, early_read;
extern pthread_barrier_t early_met, early_parted;  // by two threads that have ended
// Held by the main thread; the second read lock twice:
extern pthread_rwlock_t early_writes, early_reads;
extern pthread_mutex_t early_mutex, early_owned;  // the latter errorcheck

// With WAITERS: threads asleep in libc, each for one of these. The main thread holds the two
// mutexes above, the two read-write locks for writing, and the third for reading.
enum early_thread {
  LOCKS,
  LOCKS_OWNED,
  WAITS,
  IS_SIGNALLED,
  LEAVES,
  TAKES_TURNS,
  POSTED,
  READS,
  WRITES,
  WRITES_LAST,
  MEETS,
  FUTEX,
  EARLY_THREADS
};
extern pthread_t early_threads[EARLY_THREADS];
extern pthread_mutex_t early_guard;  // of the conditions and what they are about
extern pthread_cond_t early_wanted, early_signalled, early_left, early_turn;
extern int early_go, early_over, early_turns;
extern sem_t early_semaphore;
extern pthread_rwlock_t early_for_reader, early_for_writer, early_for_last;
extern pthread_barrier_t early_barrier;
extern int early_futex;
