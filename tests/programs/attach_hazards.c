// Usage: attach_hazards WAY: what fble-prof attach may meet, again and again, for 4 s of steps:
//   forks     forks while other threads allocate: fork waits for the locks of the allocator
//   users     changes the user: libc sends a signal to all threads, and waits for them
//   handler   has handlers of faults, and loads and unloads libraries (argv[2])
//   sections  runs restartable sequences, and looks whether one was neither aborted nor whole
//   loads     once: loads a library (argv[2]) that waits for the main thread, which sleeps for 4 s
// Prints what went wrong, and "done".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int is_over;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}
static void rest(long ns) {
  const struct timespec time = {0, ns};
  nanosleep(&time, NULL);
}

static void* allocates(void* seed) {
  enum { kBlocks = 64 };
  void* blocks[kBlocks] = {NULL};
  unsigned state = (unsigned)(unsigned long)seed;
  while (!is_over) {
    const int i = rand_r(&state) % kBlocks;
    free(blocks[i]);
    blocks[i] = malloc(2000 + (size_t)rand_r(&state) % 60000);
  }
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
  return NULL;
}

static void* changes_user(void* unused) {
  while (!is_over) {
    if (seteuid(geteuid()) != 0) puts("the user is not changed");
    rest(5000000);
  }
  return unused;
}

static void on_fault(int number) { (void)number; }

static void* loads(void* path) {
  while (!is_over) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == NULL) puts(dlerror());
    rest(500000);
    dlclose(library);
  }
  return NULL;
}

static sem_t go;
void wait_for_main(void);
void wait_for_main(void) { sem_wait(&go); }

static void* loads_once(void* path) {
  if (dlopen(path, RTLD_NOW) == NULL) puts(dlerror());
  return NULL;
}

// A section of some 20 us. At its end, the kernel has not forgotten that it is one.
static void run_section(void) {
  struct rseq* area = (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
  long is_aborted = 0, left = 0;
  __asm__ volatile(
      ".pushsection __rseq_cs, \"aw\"\n.balign 32\n77: .long 0, 0\n.quad 1f, 2f - 1f, 4f\n"
      ".popsection\n"
      "lea 77b(%%rip), %%rax\nmov %%rax, %[section]\n"
      "1: mov $20000, %%ecx\n5: dec %%ecx\njnz 5b\nmov %[section], %%rax\nmov %%rax, %[left]\n"
      "2: jmp 6f\n"
      ".long 0x53053053\n"
      "4: movq $1, %[aborted]\n"
      "6:\n"
      : [section] "+m"(area->rseq_cs), [left] "+m"(left), [aborted] "+m"(is_aborted)::"rax", "rcx",
        "memory", "cc");
  if (!is_aborted && !left) puts("a section was interrupted, and went on");
}

int main(int argc, char** argv) {
  enum { kThreads = 3 };
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char* way = argc > 1 ? argv[1] : "";
  pthread_t threads[kThreads];
  int count = 0;
  const double end = now() + 4;
  if (strcmp(way, "forks") == 0) {
    for (long i = 1; i <= kThreads; ++i)
      pthread_create(&threads[count++], NULL, allocates, (void*)i);
    while (now() < end) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, NULL, 0);
    }
  } else if (strcmp(way, "users") == 0) {
    pthread_create(&threads[count++], NULL, changes_user, NULL);
    while (now() < end) rest(100000000);
  } else if (strcmp(way, "handler") == 0) {
    struct sigaction action = {.sa_handler = on_fault}, after;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    pthread_create(&threads[count++], NULL, loads, argv[2]);
    while (now() < end) rest(100000000);
    sigaction(SIGSEGV, NULL, &after);
    if (after.sa_handler == SIG_DFL) puts("the handler of SIGSEGV is gone");
    sigaction(SIGBUS, NULL, &after);
    if (after.sa_handler == SIG_DFL) puts("the handler of SIGBUS is gone");
  } else if (strcmp(way, "sections") == 0) {
    while (now() < end) run_section();
  } else if (strcmp(way, "loads") == 0) {
    sem_init(&go, 0, 0);
    pthread_create(&threads[count++], NULL, loads_once, argv[2]);
    while (now() < end) rest(100000000);
    sem_post(&go);
  } else {
    return 2;
  }
  is_over = 1;
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
