// A program of few instructions, for the proofs (tests/proof), which stop it at each of them.
//   steps COUNTS SCENARIO [PLUGIN]
// In the file COUNTS each function counts its own calls, after its hook: at any moment, the profile
// has as many calls as the file, and at most one more for each thread. The system call kMark marks
// the beginning and end of the steps.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))

enum { kFunctions = 9, kMark = 0x4242 };
struct counts {
  uint64_t address[kFunctions];
  uint64_t calls[kFunctions];
  uint64_t signals;
};
static struct counts* counts;

#define COUNT(i) __atomic_fetch_add(&counts->calls[i], 1, __ATOMIC_RELAXED)

PLAIN static void mark(long begins) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(kMark), "D"(begins) : "rcx", "r11", "memory");
}

__attribute__((noinline)) void leaf(void) { COUNT(0); }

void odd(int n);
__attribute__((noinline)) void even(int n) {
  COUNT(1);
  if (n > 0) odd(n - 1);
  leaf();
}
__attribute__((noinline)) void odd(int n) {
  COUNT(2);
  if (n > 0) even(n - 1);
  leaf();
}

// Six functions in every order: 1956 contexts.
typedef void branch(unsigned used);
static branch* const branches[6];
PLAIN static void go_on(unsigned used) {
  for (int i = 0; i < 6; ++i) {
    if (!(used & 1u << i)) branches[i](used | 1u << i);
  }
}
#define BRANCH(i)                                            \
  __attribute__((noinline)) void branch_##i(unsigned used) { \
    COUNT(3 + i);                                            \
    go_on(used);                                             \
  }
BRANCH(0)
BRANCH(1)
BRANCH(2)
BRANCH(3)
BRANCH(4)
BRANCH(5)
static branch* const branches[6] = {branch_0, branch_1, branch_2, branch_3, branch_4, branch_5};

PLAIN static void map_counts(const char* path) {
  static void* const functions[kFunctions] = {leaf,     even,     odd,      branch_0, branch_1,
                                              branch_2, branch_3, branch_4, branch_5};
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof *counts) != 0) exit(99);
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (counts == MAP_FAILED) exit(99);
  for (int i = 0; i < kFunctions; ++i) counts->address[i] = (uint64_t)functions[i];
}

PLAIN static void* thread(void* argument) {
  even(2);
  return argument;
}

PLAIN static int run_threads(int count) {
  pthread_t threads[8];
  int failed = 0;
  for (int i = 0; i < count; ++i) failed += pthread_create(&threads[i], NULL, thread, NULL) != 0;
  for (int i = 0; i < count - failed; ++i) pthread_join(threads[i], NULL);
  return failed;
}

PLAIN static int run_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    even(2);
    _exit(3);
  }
  even(1);
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

PLAIN static int load(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW);
  leaf();
  if (!library) return 1;
  dlclose(library);
  leaf();
  return 0;
}

PLAIN static int allocate(void) {
  void* volatile blocks[40];
  for (int i = 0; i < 40; ++i) blocks[i] = malloc(100 + 1000 * (i % 7));
  for (int i = 0; i < 40; ++i) free(blocks[i]);
  return blocks[0] == NULL;
}

PLAIN static void busy(void) {
  for (;;) {
    even(5);
    go_on(0);
    run_threads(2);
    allocate();
    run_child();
  }
}

// User mode only: no system call, and no page fault once the ways are known.
PLAIN static void* compute(void* argument) {
  for (;;) {
    for (int i = 0; i < 1000; ++i) even(i % 20);
    go_on(0);
  }
  return argument;
}

PLAIN static void compute_in_threads(int count) {
  pthread_t threads[8];
  for (int i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, compute, NULL) != 0) exit(99);
  }
  compute(NULL);
}

// Most of the time goes into calls.
PLAIN static void soak(const char* plugin) {
  for (;;) {
    for (int i = 0; i < 200000; ++i) even(i % 20);
    go_on(0);
    run_threads(3);
    load(plugin);
    run_child();
  }
}

PLAIN static void on_signal(int number) {
  (void)number;
  __atomic_fetch_add(&counts->signals, 1, __ATOMIC_RELAXED);
  leaf();
}

int main(int argc, char** argv) {
  if (argc < 3) return 99;
  const char* what = argv[2];
  map_counts(argv[1]);
  signal(SIGUSR1, on_signal);
  int result = 0;
  mark(1);
  if (strcmp(what, "calls") == 0) {
    even(3);
    leaf();
    even(3);
  } else if (strcmp(what, "again") == 0) {
    for (int i = 0; i < 6; ++i) even(3);
  } else if (strcmp(what, "thread") == 0) {
    result = run_threads(1);
  } else if (strcmp(what, "threads") == 0) {
    result = run_threads(3);
  } else if (strcmp(what, "fork") == 0) {
    result = run_child();
  } else if (strcmp(what, "exec") == 0) {
    even(1);
    char* next[] = {argv[0], argv[1], (char*)"calls", NULL};
    execv("/no/such/file", next);
    leaf();
    execv(argv[0], next);
  } else if (strcmp(what, "load") == 0) {
    result = load(argv[3]);
  } else if (strcmp(what, "grow") == 0) {
    go_on(0);
  } else if (strcmp(what, "memory") == 0) {
    even(1);
    result = allocate();
  } else if (strcmp(what, "fatal") == 0) {
    even(1);
    raise(SIGTERM);
  } else if (strcmp(what, "busy") == 0) {
    busy();
  } else if (strcmp(what, "compute") == 0) {
    compute_in_threads(2);
  } else if (strcmp(what, "soak") == 0) {
    soak(argv[3]);
  }
  mark(0);
  printf("result %d\n", result);
  return 0;
}
