// Descriptors by which threads of the program wake each other: the ends of pipes and socket pairs,
// and eventfds.
//
// A table says for each descriptor at which one its writes arrive, and which epoll watches it. So a
// writer finds the object that a reader waits for, without a system call. It is filled by the calls
// that make these descriptors. A duplicate (dup, fcntl, another process) is in no table: its waits
// and writes are then not known, but never wrong.
//
// Any thread, also in signal handlers. Two threads that change one descriptor at a time leave it in
// any of the states that one of them wants.
#pragma once

#include "waiting.h"

namespace fbleprof::preload {

// What a thread that reads from a descriptor, or waits for events of an epoll, waits for; null if
// no thread is known to write to it.
const void* awaited(Word fd);

// The caller is about to write to a descriptor. Reports it if a thread waits for that.
void note_write(Word fd, std::uint64_t caller);

// The caller is about to make a system call by its number. If it closes descriptors, the table
// forgets them.
void forget_by_call(Word number, Word a, Word b, Word c);

}  // namespace fbleprof::preload
