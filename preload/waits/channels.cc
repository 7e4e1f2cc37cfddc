#include "channels.h"

#include <linux/close_range.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>

#include "signal_safe/close_from.h"
#include "waking.h"

namespace fbleprof::preload {
namespace {

// Numbers of descriptors are one too large, so that 0 is none.
struct alignas(8) Descriptor {
  std::uint16_t reaches;     // where writes to this one arrive
  std::uint16_t written_at;  // whose writes arrive here
  std::uint16_t watcher;     // the epoll that watches this one
  std::uint16_t watches;     // 1: is an epoll that watches one of the table
};
constexpr Word kDescriptors = 4096;
Descriptor descriptors[kDescriptors];

Descriptor* at(Word fd) {
  const int number = static_cast<int>(fd);
  return number >= 0 && number < kDescriptors ? &descriptors[number] : nullptr;
}
std::uint16_t number_of(const Descriptor& one) {
  return static_cast<std::uint16_t>(&one - descriptors + 1);
}

std::uint16_t get(const std::uint16_t& field) { return __atomic_load_n(&field, __ATOMIC_RELAXED); }
void set(std::uint16_t& field, std::uint16_t value) {
  __atomic_store_n(&field, value, __ATOMIC_RELAXED);
}
void clear_if(std::uint16_t& field, std::uint16_t value) {
  if (get(field) == value) set(field, 0);
}

bool is_known(const Descriptor& one) {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(&one), __ATOMIC_RELAXED) != 0;
}

void forget(Descriptor& gone) {
  const std::uint16_t number = number_of(gone);
  const std::uint16_t reaches = get(gone.reaches), written_at = get(gone.written_at);
  if (reaches != 0) clear_if(descriptors[reaches - 1].written_at, number);
  if (written_at != 0) clear_if(descriptors[written_at - 1].reaches, number);
  if (get(gone.watches) != 0) {
    for (Descriptor& one : descriptors) clear_if(one.watcher, number);
  }
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(&gone), std::uint64_t{0}, __ATOMIC_RELAXED);
}

// A child of vfork makes and closes descriptors of its own, in this memory. A recorder that has not
// begun knows no process.
bool are_programs_own() {
  static bool has_begun = false;
  if (fbleprof_is_own_process == nullptr) return true;
  const bool is_own = fbleprof_is_own_process();
  if (is_own) __atomic_store_n(&has_begun, true, __ATOMIC_RELAXED);
  return is_own || !__atomic_load_n(&has_begun, __ATOMIC_RELAXED);
}

// The descriptor is closed, or about to become another.
void forget(Word fd) {
  Descriptor* gone = at(fd);
  if (gone == nullptr || !is_known(*gone)) [[likely]]
    return;
  if (are_programs_own()) forget(*gone);
}

// The same of all from `first` to `last`.
void forget_range(unsigned first, unsigned last) {
  if (!are_programs_own()) return;
  const auto end = std::min<std::uint64_t>(std::uint64_t{last} + 1, kDescriptors);
  for (std::uint64_t number = first; number < end; ++number) {
    if (is_known(descriptors[number])) forget(descriptors[number]);
  }
}

// A stream is closed, or about to get another descriptor.
void forget_stream(FILE* stream) {
  const int saved_errno = errno;
  forget(fileno_unlocked(stream));
  errno = saved_errno;
}

// What is written to `from` can be read from `to`.
void connect_ends(Word from, Word to) {
  Descriptor *writes = at(from), *reads = at(to);
  if (writes == nullptr || reads == nullptr || !are_programs_own()) return;
  set(writes->reaches, number_of(*reads));
  set(reads->written_at, number_of(*writes));
}

// Whether what is written to a descriptor wakes an epoll that watches it for these events.
bool are_of_writes(std::uint32_t events) {
  return (events & (EPOLLIN | EPOLLRDNORM | EPOLLPRI | EPOLLRDBAND)) != 0;
}

// From now on, the epoll watches the descriptor for such events, or no longer.
void watch(Word epoll, Word fd, bool are_events_of_writes) {
  Descriptor *watcher = at(epoll), *watched = at(fd);
  if (watcher == nullptr || watched == nullptr) return;
  const std::uint16_t number = number_of(*watcher);
  const bool is_changed = are_events_of_writes
                              ? get(watched->written_at) != 0 && get(watched->watcher) != number
                              : get(watched->watcher) == number;
  if (!is_changed || !are_programs_own()) return;
  set(watched->watcher, are_events_of_writes ? number : std::uint16_t{0});
  if (are_events_of_writes) set(watcher->watches, 1);
}

Word bytes_of(Word messages, Word count) {
  const auto* message = reinterpret_cast<const mmsghdr*>(messages);
  Word bytes = 0;
  for (int i = 0; i < static_cast<int>(count); ++i) bytes += message[i].msg_len;
  return bytes;
}

// The table knows descriptors as int.
bool has_failed(Word result) { return static_cast<int>(result) < 0; }

}  // namespace

const void* awaited(Word fd) {
  const Descriptor* one = at(fd);
  return one != nullptr && (get(one->written_at) | get(one->watches)) != 0 ? one : nullptr;
}

void note_write(Word fd, std::uint64_t caller) {
  const Descriptor* one = at(fd);
  const std::uint16_t reaches = one != nullptr ? get(one->reaches) : std::uint16_t{0};
  if (reaches == 0) return;
  const Descriptor& end = descriptors[reaches - 1];
  let_go_if_wanted(caller, &end);
  const std::uint16_t watcher = get(end.watcher);
  if (watcher != 0) let_go_if_wanted(caller, &descriptors[watcher - 1]);
}

void forget_by_call(Word number, Word a, Word b, Word c) {
  switch (number) {
    case SYS_close:
      return forget(a);
    case SYS_close_range:
      if ((static_cast<unsigned>(c) & CLOSE_RANGE_CLOEXEC) == 0) {
        forget_range(static_cast<unsigned>(a), static_cast<unsigned>(b));
      }
      return;
    case SYS_dup2:
    case SYS_dup3:
      if (static_cast<int>(a) != static_cast<int>(b)) forget(b);
      return;
    default:
      return;
  }
}

}  // namespace fbleprof::preload

using namespace fbleprof::preload;

#define FBLEPROF_READER(name)                                                                      \
  FBLEPROF_WRAPPER(Word, name, Word fd, Word b, Word c, Word d, Word e, Word f) {                  \
    return received(next::name, FBLEPROF_CALLER, WaitKind::kForPeers, awaited(fd), fd, b, c, d, e, \
                    f);                                                                            \
  }
FBLEPROF_READER(read)
FBLEPROF_READER(__read_chk)
FBLEPROF_READER(readv)
FBLEPROF_READER(recv)
FBLEPROF_READER(__recv_chk)
FBLEPROF_READER(recvfrom)
FBLEPROF_READER(recvmsg)

// Without an offset they are readv; with one they read a file.
#define FBLEPROF_READER_AT(name)                                                             \
  FBLEPROF_WRAPPER(Word, name, Word fd, Word b, Word c, Word offset, Word e) {               \
    const WaitKind kind = offset == -1 ? WaitKind::kForPeers : WaitKind::kForOther;          \
    return received(next::name, FBLEPROF_CALLER, kind, awaited(fd), fd, b, c, offset, e, 0); \
  }
FBLEPROF_READER_AT(preadv2)
FBLEPROF_READER_AT(preadv64v2)

#define FBLEPROF_EVENTS(name)                                                                    \
  FBLEPROF_WRAPPER(Word, name, Word epoll, Word b, Word c, Word d, Word e, Word f) {             \
    return wait_for(next::name, FBLEPROF_CALLER, WaitKind::kForEvents, awaited(epoll), epoll, b, \
                    c, d, e, f);                                                                 \
  }
FBLEPROF_EVENTS(epoll_wait)
FBLEPROF_EVENTS(epoll_pwait)
FBLEPROF_EVENTS(epoll_pwait2)

// Which of its words the call writes to.
#define FBLEPROF_WRITER(name, to)                                                \
  FBLEPROF_WRAPPER(Word, name, Word a, Word b, Word c, Word d, Word e, Word f) { \
    note_write(to, FBLEPROF_CALLER);                                             \
    return sent(next::name, FBLEPROF_CALLER, a, b, c, d, e, f);                  \
  }
FBLEPROF_WRITER(write, a)
FBLEPROF_WRITER(writev, a)
FBLEPROF_WRITER(pwritev2, a)
FBLEPROF_WRITER(pwritev64v2, a)
FBLEPROF_WRITER(send, a)
FBLEPROF_WRITER(sendto, a)
FBLEPROF_WRITER(sendmsg, a)
FBLEPROF_WRITER(sendfile, a)
FBLEPROF_WRITER(sendfile64, a)
FBLEPROF_WRITER(vmsplice, a)
FBLEPROF_WRITER(tee, b)
FBLEPROF_WRITER(splice, c)

// These return how many messages they transferred.
FBLEPROF_WRAPPER(Word, recvmmsg, Word fd, Word messages, Word b, Word c, Word d) {
  auto* function = next::recvmmsg.as<OfWords>();
  if (function == nullptr) return missing();
  Waiting waiting(next::recvmmsg, FBLEPROF_CALLER, WaitKind::kForPeers, awaited(fd));
  const Word result = function(fd, messages, b, c, d, 0);
  waiting.has_read(bytes_of(messages, result));
  return result;
}
FBLEPROF_WRAPPER(Word, sendmmsg, Word fd, Word messages, Word b, Word c) {
  auto* function = next::sendmmsg.as<OfWords>();
  if (function == nullptr) return missing();
  note_write(fd, FBLEPROF_CALLER);
  Waiting waiting(next::sendmmsg, FBLEPROF_CALLER);
  const Word result = function(fd, messages, b, c, 0, 0);
  waiting.has_written(bytes_of(messages, result));
  return result;
}

// recvfrom, with the size of the buffer: one word more than the others.
FBLEPROF_WRAPPER(Word, __recvfrom_chk, Word fd, Word b, Word c, Word d, Word e, Word f, Word g) {
  auto* function = next::__recvfrom_chk.as<Word(Word, Word, Word, Word, Word, Word, Word)>();
  if (function == nullptr) return missing();
  Waiting waiting(next::__recvfrom_chk, FBLEPROF_CALLER, WaitKind::kForPeers, awaited(fd));
  const Word result = function(fd, b, c, d, e, f, g);
  waiting.has_read(result);
  return result;
}

// Their results are no numbers of bytes.
FBLEPROF_WRAPPER(Word, eventfd_read, Word fd, Word value) {
  return wait_for(next::eventfd_read, FBLEPROF_CALLER, WaitKind::kForPeers, awaited(fd), fd, value);
}
FBLEPROF_WRAPPER(Word, eventfd_write, Word fd, Word value) {
  note_write(fd, FBLEPROF_CALLER);
  return waited(next::eventfd_write, FBLEPROF_CALLER, fd, value);
}

FBLEPROF_WRAPPER(Word, close, Word fd) {
  forget(fd);
  return waited(next::close, FBLEPROF_CALLER, fd);
}

FBLEPROF_WRAPPER(Word, fclose, FILE* stream) {
  forget_stream(stream);
  return waited(next::fclose, FBLEPROF_CALLER, reinterpret_cast<Word>(stream));
}

// They may keep the number for what they open.
#define FBLEPROF_REOPEN(name)                                                               \
  FBLEPROF_WRAPPER(Word, name, Word path, Word mode, FILE* stream) {                        \
    forget_stream(stream);                                                                  \
    return waited(next::name, FBLEPROF_CALLER, path, mode, reinterpret_cast<Word>(stream)); \
  }
FBLEPROF_REOPEN(freopen)
FBLEPROF_REOPEN(freopen64)

// Linux closes a range without waiting, like a descriptor that is replaced.
FBLEPROF_WRAPPER(Word, close_range, Word first, Word last, Word flags) {
  forget_by_call(SYS_close_range, first, last, flags);
  return pass_on(next::close_range, first, last, flags);
}
FBLEPROF_WRAPPER(void, closefrom, Word first) {
  const int from = std::max(static_cast<int>(first), 0);
  forget_range(static_cast<unsigned>(from), ~0u);
  auto* function = next::closefrom.as<void(Word)>();
  if (function == nullptr) return fbleprof::signal_safe::close_from(static_cast<unsigned>(from));
  function(first);
}

// Calls that make descriptors do not block.
FBLEPROF_WRAPPER(Word, pipe, Word ends) {
  const Word result = pass_on(next::pipe, ends);
  const int* fd = reinterpret_cast<const int*>(ends);
  if (!has_failed(result)) connect_ends(fd[1], fd[0]);
  return result;
}
FBLEPROF_WRAPPER(Word, pipe2, Word ends, Word flags) {
  const Word result = pass_on(next::pipe2, ends, flags);
  const int* fd = reinterpret_cast<const int*>(ends);
  if (!has_failed(result)) connect_ends(fd[1], fd[0]);
  return result;
}
FBLEPROF_WRAPPER(Word, socketpair, Word domain, Word type, Word protocol, Word ends) {
  const Word result = pass_on(next::socketpair, domain, type, protocol, ends);
  const int* fd = reinterpret_cast<const int*>(ends);
  if (!has_failed(result)) {
    connect_ends(fd[1], fd[0]);
    connect_ends(fd[0], fd[1]);
  }
  return result;
}
FBLEPROF_WRAPPER(Word, eventfd, Word count, Word flags) {
  const Word result = pass_on(next::eventfd, count, flags);
  if (!has_failed(result)) connect_ends(result, result);
  return result;
}
FBLEPROF_WRAPPER(Word, dup2, Word from, Word to) {
  if (static_cast<int>(from) != static_cast<int>(to)) forget(to);
  return pass_on(next::dup2, from, to);
}
FBLEPROF_WRAPPER(Word, dup3, Word from, Word to, Word flags) {
  if (static_cast<int>(from) != static_cast<int>(to)) forget(to);
  return pass_on(next::dup3, from, to, flags);
}
FBLEPROF_WRAPPER(Word, epoll_ctl, Word epoll, Word what, Word fd, Word event) {
  const Word result = pass_on(next::epoll_ctl, epoll, what, fd, event);
  if (has_failed(result)) return result;
  const bool is_watched = static_cast<int>(what) != EPOLL_CTL_DEL;
  watch(epoll, fd,
        is_watched && are_of_writes(reinterpret_cast<const epoll_event*>(event)->events));
  return result;
}
