// Programs that start other processes. argv[1]: fork | vfork | vfork-dies | spawn | system | popen
// | execs N | thread-exec | failed-execs | daemon MARKER | children N | fork-refused.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "block.h"

extern char** environ;
static volatile int done;
static const char* self;

BLOCK void parent_work(void) { work(5); }
BLOCK void child_work(void) { work(5); }
BLOCK void grandchild_work(void) { work(5); }

static void* busy(void* unused) {
  while (!done) work(10);
  return unused;
}

static int wait_for(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Fork while other threads run; the children call blocks, one forks again, each ends another way.
BLOCK void fork_many(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, busy, NULL);
  for (int i = 0; i < 10; ++i) {
    parent_work();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
      for (int j = 0; j < 1000; ++j) child_work();
      if (i == 5) {
        pid = fork();
        if (pid == 0) {
          for (int j = 0; j < 500; ++j) grandchild_work();
          _exit(3);
        }
        _exit(wait_for(pid));
      }
      if (i % 2) exit(i);
      _exit(i);
    }
    printf("child: %d\n", wait_for(pid));
  }
  done = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  expect("fork_many", "parent_work", 10);
  expect("fork_many", "child_work", 0);
}

// The child of vfork runs in our memory and calls blocks there.
BLOCK void in_vfork_child(void) { KEEP; }
BLOCK void vfork_many(void) {
  for (volatile int i = 0; i < 100; ++i) {
    parent_work();
    pid_t pid = vfork();
    if (pid == 0) {
      in_vfork_child();
      if (i % 2) _exit(4);
      execl("/bin/true", "true", (char*)NULL);
      _exit(127);
    }
    int status = wait_for(pid);
    if (status != (i % 2 ? 4 : 0)) printf("child: %d\n", status);
    parent_work();
  }
  expect("vfork_many", "parent_work", 200);
}

// A child of vfork that a signal ends, in our memory.
BLOCK void vfork_dies(void) {
  for (int i = 0; i < 2000; ++i) parent_work();
  for (int i = 0; i < 5; ++i) {
    const pid_t pid = vfork();
    if (pid == 0) {
      raise(SIGTERM);
      _exit(127);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (!WIFSIGNALED(status)) printf("child: %x\n", (unsigned)status);
    for (int k = 0; k < 100; ++k) parent_work();
  }
  expect("vfork_dies", "parent_work", 2500);
}

BLOCK void spawn_many(void) {
  for (int i = 0; i < 100; ++i) {
    char* arguments[] = {(char*)"sh", (char*)"-c", (char*)"exit 5", NULL};
    pid_t pid;
    parent_work();
    int error = posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ);
    if (error != 0 || wait_for(pid) != 5) printf("spawn failed: %d\n", error);
  }
  expect("spawn_many", "parent_work", 100);
}

BLOCK void system_many(void) {
  for (int i = 0; i < 20; ++i) {
    parent_work();
    if (WEXITSTATUS(system("true; exit 6")) != 6) puts("system failed");
  }
  fflush(stdout);
  printf("%d\n", system("kill -TERM $$"));
  expect("system_many", "parent_work", 20);
}

BLOCK void popen_one(void) {
  char line[100] = "";
  FILE* pipe = popen("echo from the pipe", "r");
  if (fgets(line, sizeof line, pipe)) printf("%s", line);
  printf("%d\n", pclose(pipe));
}

// Replaces itself N times; each image works.
BLOCK void exec_chain(int left) {
  for (int i = 0; i < 1000 + left; ++i) parent_work();
  printf("left: %d\n", left);
  fflush(stdout);
  if (left > 0) {
    char number[20];
    snprintf(number, sizeof number, "%d", left - 1);
    execl(self, self, "execs", number, (char*)NULL);
    _exit(127);
  }
}

BLOCK void* exec_from_here(void* unused) {
  for (int i = 0; i < 100; ++i) child_work();
  execl(self, self, "execs", "0", (char*)NULL);
  return unused;
}

// Double fork, new session, every descriptor closed, as daemons do.
BLOCK void daemon_work(void) { work(5); }
BLOCK void become_daemon(const char* marker) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid != 0) {
    printf("launcher: %d\n", wait_for(pid));
    return;
  }
  setsid();
  if (fork() != 0) _exit(0);
  if (chdir("/") != 0) _exit(1);
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2) _exit(1);
  for (int i = 0; i < 5000; ++i) daemon_work();
  // The first free descriptor is the same as without a profiler.
  int fd = open(marker, O_WRONLY | O_CREAT | O_EXCL, 0600);
  dprintf(fd, "first descriptor %d\n", fd);
  close(fd);
  exit(0);
}

// Children one after the other, each of which calls a block.
BLOCK void children(int count) {
  for (int i = 0; i < count; ++i) {
    pid_t pid = fork();
    if (pid == 0) {
      child_work();
      _exit(0);
    }
    if (wait_for(pid) != 0) puts("child failed");
  }
}

// A child that cannot make a file of a profile's size. It starts threads, and another program.
BLOCK void* refused_work(void* unused) {
  for (int i = 0; i < 100; ++i) child_work();
  return unused;
}
BLOCK void fork_refused(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = 512 << 10;
  setrlimit(RLIMIT_FSIZE, &limit);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    pthread_t thread;
    for (int i = 0; i < 3; ++i) {
      pthread_create(&thread, NULL, refused_work, NULL);
      pthread_join(thread, NULL);
    }
    refused_work(NULL);
    signal(SIGPROF, SIG_IGN);  // which the next program inherits
    execl("/bin/sh", "sh", "-c", "grep SigIgn /proc/self/status; exit 5", (char*)NULL);
    _exit(127);
  }
  printf("child: %d\n", wait_for(pid));
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 1000; ++i) parent_work();
  expect("fork_refused", "parent_work", 1000);
  expect("refused_work", "child_work", 0);
  fflush(stdout);
  raise(SIGKILL);  // the state that the file was left in stays
}

// Exec that fails, again and again, while other threads find new contexts and start threads.
#define WAY(n) BLOCK static void way##n(unsigned random, int depth);
#define WAYS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
WAYS(WAY)
static void go_on(unsigned random, int depth) {
#define ENTRY(n) way##n,
  static void (*const ways[])(unsigned, int) = {WAYS(ENTRY)};
  if (depth == 0) return parent_work();
  ways[random >> 16 & 7](random * 1103515245 + 12345, depth - 1);
  KEEP;
}
#undef WAY
#define WAY(n)                                           \
  BLOCK static void way##n(unsigned random, int depth) { \
    go_on(random, depth);                                \
    KEEP;                                                \
  }
WAYS(WAY)

enum { kWalks = 20000, kWalkers = 3, kShortThreads = 200 };

static void* walk(void* seed) {
  for (unsigned i = 0; i < kWalks; ++i) go_on(i * 69069 + (unsigned)(long)seed, 12);
  return NULL;
}
static void* call_once(void* unused) {
  child_work();
  return unused;
}
static void* start_threads(void* unused) {
  for (int i = 0; i < kShortThreads; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, call_once, NULL);
    pthread_join(thread, NULL);
  }
  done = 1;
  return unused;
}

static void failed_execs(void) {
  pthread_t walkers[kWalkers], starter;
  pthread_create(&starter, NULL, start_threads, NULL);
  for (long i = 0; i < kWalkers; ++i) pthread_create(&walkers[i], NULL, walk, (void*)i);
  do execl("/nonexistent", "nonexistent", (char*)NULL);
  while (!done);
  for (int i = 0; i < kWalkers; ++i) pthread_join(walkers[i], NULL);
  pthread_join(starter, NULL);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "fork";
  self = argv[0];
  if (!strcmp(how, "fork"))
    fork_many();
  else if (!strcmp(how, "vfork"))
    vfork_many();
  else if (!strcmp(how, "vfork-dies"))
    vfork_dies();
  else if (!strcmp(how, "spawn"))
    spawn_many();
  else if (!strcmp(how, "system"))
    system_many();
  else if (!strcmp(how, "popen"))
    popen_one();
  else if (!strcmp(how, "execs"))
    exec_chain(argc > 2 ? atoi(argv[2]) : 4);
  else if (!strcmp(how, "failed-execs"))
    failed_execs();
  else if (!strcmp(how, "thread-exec")) {
    pthread_t thread;
    pthread_create(&thread, NULL, exec_from_here, NULL);
    for (;;) pause();
  } else if (!strcmp(how, "daemon") && argc > 2)
    become_daemon(argv[2]);
  else if (!strcmp(how, "children"))
    children(argc > 2 ? atoi(argv[2]) : 100);
  else if (!strcmp(how, "fork-refused"))
    fork_refused();
  else
    return 2;
  return 0;
}
