// Linux lets a call that waits on a descriptor go on when another thread closes the number or puts
// another file under it (dup2): the call holds the file, not the number. Programs build on it: a
// reader of a child's pipe gets the end of the stream although the pipe was closed meanwhile; the
// JDK lets such a call wait until its signal comes.
//
// Here the waiting call holds only the number. So whoever ends a life in which calls wait (counted
// in the record's state) first duplicates the file; each of those calls claims the duplicate, goes
// on with it, and the last one closes it.
#pragma once
#include "io/descriptor.h"
#include "platform/spin_lock.h"

namespace wisp::io {

// Held over the end of a life and its kept_publish, so that a claimant never comes too early.
SpinLock& kept_lock();
// `fd` serves `callers` claims of (d, life). Under kept_lock. Returns what the caller is to close
// once it is out of the runtime, -1: nothing. (The last close of a socket may linger for seconds.)
int kept_publish(Descriptor* d, uint32_t life, int fd, uint32_t callers);
// The duplicate for a call that was counted in that life, or -1. Needs a RuntimeEntry.
int kept_claim(Descriptor* d, uint32_t life);
// Whether fd is a duplicate of ours that calls go on with, to be said before it is closed: a child
// of fork, which has those calls no more than the other threads, closes all such.
void kept_mark(int fd, bool in_flight);
// What that has said. A program that closes all numbers does not mean it: the kernel's call would
// go on with its file.
bool kept_in_flight(int fd);
void kept_after_fork();
// The call that claimed fd is over. Needs a RuntimeEntry. Returns what is to be closed, as above.
int kept_release(int fd);

}  // namespace wisp::io
