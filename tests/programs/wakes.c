// wakes: a thread that waits in each of several ways, and is woken by two functions in turn. Says
// on stdout how often it was woken.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

enum { kRounds = 4, kKinds = 30 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int signals, futex_word;
static sem_t semaphore, posted;
static pthread_barrier_t barrier;
static int ends[2], duplicate_ends[2], sockets[2], counter, epoll;
static int after_range[2], after_from[2], after_stream[2], after_call[2], after_child[2];

KEEP static void signals_cond(void) {
  pthread_mutex_lock(&mutex);
  ++signals;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}
KEEP static void waits_cond(void) {
  pthread_mutex_lock(&mutex);
  while (signals == 0) pthread_cond_wait(&condition, &mutex);
  --signals;
  pthread_mutex_unlock(&mutex);
}

KEEP static void signals_semaphore(void) {
  sem_post(&semaphore);
  __asm__ volatile("");
}
KEEP static void waits_semaphore(void) {
  sem_wait(&semaphore);
  __asm__ volatile("");
}

// Its last instruction is a jump: the call returns to its caller.
KEEP static void post(void) { sem_post(&posted); }
KEEP static void signals_jump(void) {
  post();
  __asm__ volatile("");
}
KEEP static void waits_jump(void) {
  sem_wait(&posted);
  __asm__ volatile("");
}

KEEP static void signals_futex(void) {
  __atomic_fetch_add(&futex_word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
KEEP static void waits_futex(void) {
  while (__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST) == 0) {
    syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  }
  __atomic_fetch_sub(&futex_word, 1, __ATOMIC_SEQ_CST);
}

KEEP static void signals_barrier(void) {
  pthread_barrier_wait(&barrier);
  __asm__ volatile("");
}
KEEP static void waits_barrier(void) {
  pthread_barrier_wait(&barrier);
  __asm__ volatile("");
}

KEEP static void send_byte(int fd) {
  (void)!write(fd, "12345678", 8);
  __asm__ volatile("");
}
KEEP static void take_byte(int fd) {
  char bytes[8];
  (void)!read(fd, bytes, sizeof bytes);
}

KEEP static void signals_pipe(void) {
  send_byte(ends[1]);
  __asm__ volatile("");
}
KEEP static void waits_pipe(void) {
  take_byte(ends[0]);
  __asm__ volatile("");
}

KEEP static void signals_eventfd(void) {
  eventfd_write(counter, 1);
  __asm__ volatile("");
}
KEEP static void waits_eventfd(void) {
  eventfd_t value;
  eventfd_read(counter, &value);
}

// The other calls that write to a pipe.
static int written[2], full[2], file;
static FILE* stream;
static char eight[] = "12345678";
static struct iovec part = {.iov_base = eight, .iov_len = 8};
static off_t from;

// Declared only where a compiler checks arguments.
int __dprintf_chk(int fd, int flag, const char* format, ...);
int __vdprintf_chk(int fd, int flag, const char* format, va_list list);

KEEP static void print(int is_checked, const char* format, ...) {
  va_list list;
  va_start(list, format);
  if (is_checked) {
    __vdprintf_chk(written[1], 1, format, list);
  } else {
    vdprintf(written[1], format, list);
  }
  va_end(list);
}
#define WRITES(how, call)                \
  KEEP static void signals_##how(void) { \
    from = 0;                            \
    (void)!(call);                       \
    __asm__ volatile("");                \
  }                                      \
  KEEP static void waits_##how(void) {   \
    take_byte(written[0]);               \
    __asm__ volatile("");                \
  }
WRITES(dprintf, dprintf(written[1], "%s", eight))
WRITES(list, (print(0, "%s", eight), 0))
WRITES(checked, __dprintf_chk(written[1], 1, "%s", eight))
WRITES(checked_list, (print(1, "%s", eight), 0))
WRITES(pwritev2, pwritev2(written[1], &part, 1, -1, 0))
WRITES(sendfile, sendfile(written[1], file, &from, 8))
WRITES(splice, splice(file, &from, written[1], NULL, 8, 0))
WRITES(vmsplice, vmsplice(written[1], &part, 1, 0))
WRITES(tee, tee(full[0], written[1], 8, 0))
WRITES(flush, fputs(eight, stream) + fflush(stream))

static int messages[2];
KEEP static void signals_messages(void) {
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
  sendmmsg(messages[1], &message, 1, 0);
  __asm__ volatile("");
}
KEEP static void waits_messages(void) {
  char bytes[8];
  struct iovec room = {.iov_base = bytes, .iov_len = sizeof bytes};
  struct mmsghdr message = {.msg_hdr = {.msg_iov = &room, .msg_iovlen = 1}};
  recvmmsg(messages[0], &message, 1, 0, NULL);
}

// The event loop of many servers: other threads wake it by a byte.
KEEP static void signals_epoll(void) {
  send_byte(sockets[1]);
  __asm__ volatile("");
}
KEEP static void waits_epoll(void) {
  struct epoll_event event;
  epoll_wait(epoll, &event, 1, -1);
  take_byte(sockets[0]);
}

// An epoll no longer watches the descriptor that is written first, and wakes by one that the
// recorder did not see: not known.
struct Loop {
  int epoll, unwatched[2], unseen[2];
};
static struct Loop deleted, modified;
#define NOT_WATCHED(how)                  \
  KEEP static void signals_##how(void) {  \
    send_byte(how.unwatched[1]);          \
    send_byte(how.unseen[1]);             \
    __asm__ volatile("");                 \
  }                                       \
  KEEP static void waits_##how(void) {    \
    struct epoll_event event;             \
    epoll_wait(how.epoll, &event, 1, -1); \
    take_byte(how.unseen[0]);             \
  }
NOT_WATCHED(deleted)
NOT_WATCHED(modified)

// Through a duplicate: who woke it is not known.
KEEP static void signals_duplicate(void) {
  send_byte(duplicate_ends[1]);
  __asm__ volatile("");
}
KEEP static void waits_duplicate(void) {
  take_byte(duplicate_ends[0]);
  __asm__ volatile("");
}

// Through a pipe that the recorder did not see, with the numbers of one that was closed: not known.
#define AFTER(how)                       \
  KEEP static void signals_##how(void) { \
    send_byte(after_##how[1]);           \
    __asm__ volatile("");                \
  }                                      \
  KEEP static void waits_##how(void) {   \
    take_byte(after_##how[0]);           \
    __asm__ volatile("");                \
  }
AFTER(range)
AFTER(from)
AFTER(stream)
AFTER(call)
AFTER(child)

// The number that is written first belongs to another file now, and another one of the pipe's wakes
// the thread: not known.
struct Replaced {
  int ends[2], spare;
};
static struct Replaced by_dup2, by_dup3, by_stream;
#define REPLACED(how)                    \
  KEEP static void signals_##how(void) { \
    send_byte(how.ends[1]);              \
    send_byte(how.spare);                \
    __asm__ volatile("");                \
  }                                      \
  KEEP static void waits_##how(void) {   \
    take_byte(how.ends[0]);              \
    __asm__ volatile("");                \
  }
REPLACED(by_dup2)
REPLACED(by_dup3)
REPLACED(by_stream)

static void (*const kSignals[kKinds])(void) = {
    signals_cond,     signals_semaphore, signals_jump,         signals_futex,
    signals_barrier,  signals_pipe,      signals_eventfd,      signals_epoll,
    signals_range,    signals_from,      signals_stream,       signals_call,
    signals_child,    signals_by_dup2,   signals_by_dup3,      signals_by_stream,
    signals_deleted,  signals_modified,  signals_duplicate,    signals_dprintf,
    signals_list,     signals_checked,   signals_checked_list, signals_pwritev2,
    signals_sendfile, signals_splice,    signals_vmsplice,     signals_tee,
    signals_flush,    signals_messages};
static void (*const kWaits[kKinds])(void) = {
    waits_cond,      waits_semaphore, waits_jump,         waits_futex,     waits_barrier,
    waits_pipe,      waits_eventfd,   waits_epoll,        waits_range,     waits_from,
    waits_stream,    waits_call,      waits_child,        waits_by_dup2,   waits_by_dup3,
    waits_by_stream, waits_deleted,   waits_modified,     waits_duplicate, waits_dprintf,
    waits_list,      waits_checked,   waits_checked_list, waits_pwritev2,  waits_sendfile,
    waits_splice,    waits_vmsplice,  waits_tee,          waits_flush,     waits_messages};

static int woken;
KEEP static void* waits(void* unused) {
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int i = 0; i < 2 * kRounds; ++i) {
      kWaits[kind]();
      ++woken;
    }
  }
  return unused;
}

KEEP static void slow(int kind) {
  usleep(12000);
  kSignals[kind]();
  __asm__ volatile("");
}
KEEP static void quick(int kind) {
  usleep(3000);
  kSignals[kind]();
  __asm__ volatile("");
}

// Descriptors that are closed, and their numbers used again by others.
static void use_numbers(void) {
  int first[2], second[2];
  if (pipe(first) != 0) return;
  close(first[0]);
  close(first[1]);
  if (pipe2(second, 0) != 0) return;
  duplicate_ends[0] = second[0];
  duplicate_ends[1] = dup(second[1]);
  // The number of the written end now belongs to another pipe.
  if (pipe(first) != 0) return;
  dup2(first[1], second[1]);
}

static void use_numbers_again(int again[2], const int closed[2]) {
  if (syscall(SYS_pipe2, again, 0) != 0 || again[0] != closed[0] || again[1] != closed[1]) {
    printf("other numbers: %d %d\n", again[0], again[1]);
  }
}
static void use_numbers_after_other_calls(void) {
  int closed[2];
  closefrom(3);
  if (pipe(closed) != 0) return;
  closefrom(closed[0]);
  use_numbers_again(after_from, closed);
  if (pipe(closed) != 0) return;
  close_range((unsigned)closed[0], (unsigned)closed[1], 0);
  use_numbers_again(after_range, closed);
  if (pipe(closed) != 0) return;
  fclose(fdopen(closed[0], "r"));
  fclose(fdopen(closed[1], "w"));
  use_numbers_again(after_stream, closed);
  if (pipe(closed) != 0) return;
  syscall(SYS_close, closed[0]);
  syscall(SYS_close_range, closed[1], closed[1], 0);
  use_numbers_again(after_call, closed);
  // In this memory, but with descriptors of its own.
  if (vfork() == 0) _exit(pipe(after_child));
  closed[0] = after_child[0], closed[1] = after_child[1];
  use_numbers_again(after_child, closed);
}

static void replace_numbers(void) {
  struct Replaced* const all[] = {&by_dup2, &by_dup3, &by_stream};
  for (int i = 0; i < 3; ++i) {
    if (pipe(all[i]->ends) == 0) all[i]->spare = dup(all[i]->ends[1]);
  }
  const int other = open("/dev/null", O_WRONLY);
  syscall(SYS_dup2, other, by_dup2.ends[1]);
  syscall(SYS_dup3, other, by_dup3.ends[1], 0);
  if (freopen("/dev/null", "w", fdopen(by_stream.ends[1], "w")) == NULL) puts("not reopened");
}

static void watch(struct Loop* loop) {
  struct epoll_event event = {.events = EPOLLIN};
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (pipe(loop->unwatched) != 0 || syscall(SYS_pipe2, loop->unseen, 0) != 0) return;
  epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->unwatched[0], &event);
  epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->unseen[0], &event);
}
static void unwatch(void) {
  struct epoll_event none = {.events = 0};
  watch(&deleted);
  epoll_ctl(deleted.epoll, EPOLL_CTL_DEL, deleted.unwatched[0], NULL);
  watch(&modified);
  epoll_ctl(modified.epoll, EPOLL_CTL_MOD, modified.unwatched[0], &none);
}

int main(void) {
  pthread_t thread;
  struct epoll_event event = {.events = EPOLLIN};
  use_numbers_after_other_calls();
  use_numbers();
  replace_numbers();
  unwatch();
  if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  if (pipe(written) != 0 || pipe(full) != 0) return 1;
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, messages) != 0) return 1;
  stream = fdopen(written[1], "w");
  file = memfd_create("eight", 0);
  if (write(file, eight, 8) != 8 || write(full[1], eight, 8) != 8) return 1;
  // On a busy machine two signals come before one wait.
  counter = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[0], &event) != 0) return 1;
  sem_init(&semaphore, 0, 0);
  sem_init(&posted, 0, 0);
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, waits, NULL);
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int i = 0; i < kRounds; ++i) {
      slow(kind);
      quick(kind);
    }
  }
  pthread_join(thread, NULL);
  printf("woken %d\n", woken);
  return 0;
}
