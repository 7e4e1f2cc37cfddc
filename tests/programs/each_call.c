// Makes calls that may block, one of each, which do not block here, and prints what they return.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <syslog.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SAY(call) printf("%s: %ld\n", #call, (long)(call))

static char buffer[64];
static struct iovec parts[2] = {{buffer, 3}, {buffer + 3, 4}};
static const struct timespec soon = {0, 1};

static void write_list(int fd, FILE* stream, const char* format, ...) {
  va_list list, again;
  va_start(list, format);
  va_copy(again, list);
  SAY(vdprintf(fd, format, list));
  SAY(vfprintf(stream, format, again));
  va_end(again);
  va_end(list);
}

static void read_list(FILE* stream, const char* format, ...) {
  va_list list;
  va_start(list, format);
  SAY(vfscanf(stream, format, list));
  va_end(list);
}

static void streams(void) {
  FILE* stream = tmpfile();
  SAY(fputc('a', stream));
  SAY(putc('\n', stream));
  SAY(fputs("line one\nline two\nline;7 8 9\n", stream) >= 0);
  SAY(fwrite("12 34\n", 1, 6, stream));
  SAY(fprintf(stream, "%d and %d\n", 5, 6));
  SAY(dprintf(fileno(stream), "%s", ""));
  write_list(STDOUT_FILENO, stream, "%d+%d\n", 1, 2);
  SAY(fflush(stream));
  rewind(stream);
  SAY(fgetc(stream));
  SAY(getc(stream));
  SAY(fgets(buffer, sizeof buffer, stream) == buffer);
  char* line = NULL;
  size_t room = 0;
  SAY(getline(&line, &room, stream));
  SAY(getdelim(&line, &room, ';', stream));
  int a = 0, b = 0;
  SAY(fscanf(stream, "%d %d", &a, &b));
  read_list(stream, "%d", &a);
  SAY(a + b);
  SAY(fread(buffer, 1, 4, stream));
  // More than the buffer holds.
  static char large[20000];
  memset(large, 'c', sizeof large - 1);
  rewind(stream);
  SAY(fputs("short", stream) >= 0);
  SAY(fputs(large, stream) >= 0);
  SAY(fwrite(large, 1, sizeof large, stream));
  rewind(stream);
  SAY(fgetc(stream));
  SAY(fread(large, 1, sizeof large, stream));
  SAY(fgets(large, sizeof large, stream) == large);
  free(line);
  SAY(fclose(stream));
  SAY(putchar('x'));
  SAY(fgetc(stdin));
  SAY(getchar());
  SAY(scanf("%d", &a));
}

static void descriptors(void) {
  char name[] = "/tmp/each_call.XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  memset(buffer, 'b', sizeof buffer);
  SAY(pwrite(file, buffer, 9, 0));
  SAY(pwritev(file, parts, 2, 9));
  SAY(pwritev2(file, parts, 2, 16, 0));
  SAY(writev(file, parts, 2));
  SAY(fsync(file));
  SAY(pread(file, buffer, 5, 1));
  SAY(preadv(file, parts, 2, 0));
  SAY(preadv2(file, parts, 2, 0, 0));
  SAY(readv(file, parts, 2));
  SAY(pread(file, buffer, 5, -1));
  int ends[2], pair[2];
  SAY(pipe(ends));
  off_t from = 0;
  SAY(splice(file, &from, ends[1], NULL, 4, 0));
  SAY(vmsplice(ends[1], parts, 1, 0));
  SAY(read(ends[0], buffer, sizeof buffer));
  SAY(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  from = 0;
  SAY(sendfile(pair[0], file, &from, 6));
  SAY(recvfrom(pair[1], buffer, sizeof buffer, 0, NULL, NULL));
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  SAY(sendto(pair[0], buffer, 8, 0, NULL, 0));
  SAY(recvmsg(pair[1], &message, 0));
  SAY(sendmsg(pair[0], &message, 0));
  SAY(recv(pair[1], buffer, sizeof buffer, 0));
  struct mmsghdr messages[1] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 2}}};
  SAY(sendmmsg(pair[0], messages, 1, 0));
  SAY(recvmmsg(pair[1], messages, 1, 0, NULL));
  SAY(recv(pair[1], buffer, sizeof buffer, MSG_DONTWAIT));
  SAY(errno == EAGAIN);
  struct pollfd polled = {pair[0], POLLOUT, 0};
  SAY(ppoll(&polled, 1, &soon, NULL));
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pair[0], &set);
  SAY(select(pair[0] + 1, NULL, &set, NULL, NULL));
  const int events = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLOUT};
  SAY(epoll_ctl(events, EPOLL_CTL_ADD, pair[0], &event));
  SAY(epoll_wait(events, &event, 1, 0));
  SAY(epoll_pwait(events, &event, 1, 0, NULL));
  SAY(dup3(pair[0], pair[1], O_CLOEXEC) == pair[1]);
  SAY(openat(AT_FDCWD, "/nowhere/file", O_RDONLY));
  SAY(creat("/nowhere/file", 0600));
  SAY(close(file));
  SAY(close(file));
}

static void locks(void) {
  struct timespec later;
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec += 100;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  SAY(pthread_mutex_timedlock(&mutex, &later));
  SAY(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
  SAY(pthread_mutex_unlock(&mutex));
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  SAY(pthread_rwlock_timedrdlock(&shared, &later));
  SAY(pthread_rwlock_timedwrlock(&shared, &soon) == ETIMEDOUT);
  SAY(pthread_rwlock_unlock(&shared));
  SAY(pthread_rwlock_timedwrlock(&shared, &later));
  SAY(pthread_rwlock_unlock(&shared));
  mtx_t plain;
  SAY(mtx_init(&plain, mtx_timed));
  SAY(mtx_lock(&plain));
  cnd_t condition;
  SAY(cnd_init(&condition));
  SAY(cnd_timedwait(&condition, &plain, &soon) == thrd_timedout);
  SAY(cnd_signal(&condition));
  SAY(cnd_broadcast(&condition));
  SAY(mtx_unlock(&plain));
  SAY(mtx_timedlock(&plain, &later));
  SAY(mtx_unlock(&plain));
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  SAY(pthread_cond_broadcast(&changed));
  sem_t semaphore;
  SAY(sem_init(&semaphore, 0, 1));
  SAY(sem_timedwait(&semaphore, &later));
  SAY(sem_timedwait(&semaphore, &soon));
  SAY(errno == ETIMEDOUT);
}

static void signals(void) {
  sigset_t set;
  siginfo_t about;
  int number = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  raise(SIGUSR1);
  SAY(sigwait(&set, &number));
  SAY(number == SIGUSR1);
  raise(SIGUSR1);
  SAY(sigwaitinfo(&set, &about) == SIGUSR1);
  SAY(sigtimedwait(&set, &about, &soon));
  SAY(errno == EAGAIN);
  SAY(thrd_sleep(&soon, NULL));
  SAY(sleep(0));
}

static void names(void) {
  static char room[4096];
  struct passwd user, *found_user = NULL;
  struct group group, *found_group = NULL;
  gid_t groups[64];
  int count = 64;
  SAY(getpwnam("root") != NULL);
  SAY(getpwuid(0) != NULL);
  SAY(getpwnam_r("root", &user, room, sizeof room, &found_user));
  SAY(getpwuid_r(0, &user, room, 1, &found_user) == ERANGE);
  SAY(getgrnam("root") != NULL);
  SAY(getgrgid(0) != NULL);
  SAY(getgrnam_r("root", &group, room, sizeof room, &found_group));
  SAY(getgrgid_r(0, &group, room, sizeof room, &found_group));
  SAY(found_group == &group);
  SAY(getgrouplist("root", 0, groups, &count) == count);
  setlogmask(LOG_MASK(LOG_EMERG));
  syslog(LOG_DEBUG, "%d %s", 1, "that nobody reads");
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  names();
  streams();
  descriptors();
  locks();
  signals();
  return 0;
}
