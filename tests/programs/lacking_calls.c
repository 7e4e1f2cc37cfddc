// Makes calls that a libc lacks, behind wrappers of them (see lacking.c), and prints what they
// return. Its last calls are of locks, whose tries libc lacks.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SAY(call)                                                                 \
  do {                                                                            \
    errno = 0;                                                                    \
    const long value_ = (long)(call);                                             \
    const int error_ = errno;                                                     \
    printf("%s: %ld %s\n", #call, value_, error_ ? strerrorname_np(error_) : ""); \
  } while (0)

int __dprintf_chk(int fd, int flag, const char* format, ...);

int main(void) {
  char byte = 'b';
  int ends[2] = {-1, -1};
  const struct timespec none = {0, 0};
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  struct epoll_event event;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
  sem_t semaphore;
  sem_init(&semaphore, 0, 1);
  FILE* stream = fopen("/dev/null", "w");
  SAY(read(0, &byte, 1));
  SAY(pread(0, &byte, 1, 0));
  SAY(write(1, &byte, 1));
  SAY(pwrite(1, &byte, 1, 0));
  SAY(pipe(ends));
  SAY(fcntl(0, F_GETFD));
  SAY(fcntl(0, F_SETLKW, &lock));
  SAY(syscall(SYS_getpid));
  SAY(syscall(SYS_read, 0, &byte, 1));
  SAY(nanosleep(&none, NULL));
  SAY(epoll_wait(-1, &event, 1, 0));
  SAY(sem_wait(&semaphore));
  SAY(pthread_mutex_unlock(&mutex));
  SAY(fputc('a', stream));
  fwrite("a", 1, 1, stream);  // now there is a buffer, with room
  SAY(fputs("text", stream));
  SAY(fprintf(stream, "%d", 1));
  SAY(dprintf(1, "%d", 1));
  SAY(__dprintf_chk(1, 1, "%d", 1));
  SAY(scanf("%d", ends));
  // A jump that comes back.
  long (*jump)(jmp_buf, int) = (long (*)(jmp_buf, int))(void*)longjmp;
  jmp_buf place;
  if (setjmp(place) == 0) SAY(jump(place, 1));
  // Closes them all the same.
  dup2(1, 50);
  dup2(1, 70);
  dup2(1, 700);
  closefrom(60);
  SAY(close(50));
  SAY(close(70));
  SAY(close(700));
  SAY(pthread_mutex_lock(&mutex));
  SAY(pthread_rwlock_rdlock(&shared));
  return 0;
}
