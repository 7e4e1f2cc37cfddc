// Runs while fble-prof attaches and detaches, and counts its calls of step() and leaf() itself.
//   attached_calls THREADS
// When a file with one of these names appears in its directory, in this order, it prints the name:
//   before, begin, end, after
//                               how often step() and leaf() were called until now
//   rest                        the threads rest
//   bounded                     each calls step() 20,000 times and rests again
//   short                       200 threads run one after the other; each calls step() 100 times
//   fork                        a forked child calls step() 5000 times
//   waiting                     a thread begins to wait in a system call whose instruction is the
//   last
//                               that a jump would replace
//   woken                       its wait ends
//   fault                       a thread meets a fault in the first instructions of faulting(), and
//                               waits in the handler for a file "resume"
//   stop                        the end
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { kMostThreads = 64 };
typedef unsigned long Number;

// Each thread has its own cache line.
static struct { volatile Number steps, leaves, unused[6]; } counted[kMostThreads];
static int threads;
static volatile int resting, bounded, ended;
static volatile int at_rest, at_end;

// Two instructions, which a jump would replace; the second one can fault.
int faulting(const int* from);
__asm__(
    ".text\n.p2align 4\n.globl faulting\n.type faulting, @function\nfaulting:\n.cfi_startproc\n"
    "nop\nmov (%rdi), %eax\nadd $1, %eax\nret\n.cfi_endproc\n.size faulting, .-faulting\n");

// Three instructions, which a jump would replace. The last one is a system call, which reads.
long read_byte(int from, char* to, long one);
__asm__(
    ".p2align 4\n.globl read_byte\n.type read_byte, @function\nread_byte:\n.cfi_startproc\n"
    "xor %eax, %eax\nnop\nsyscall\nret\n.cfi_endproc\n.size read_byte, .-read_byte\n");

static int is_there(const char* file) { return access(file, F_OK) == 0; }
static void wait_for(const char* file) {
  while (!is_there(file)) usleep(2000);
}

__attribute__((noinline)) Number leaf(Number x, int thread) {
  ++counted[thread].leaves;
  return x * 6364136223846793005u + 1;
}
__attribute__((noinline)) Number step(Number x, int thread) {
  ++counted[thread].steps;
  x = leaf(x, thread);
  if (x & 4096) x = leaf(x, thread);
  return x ^ x >> 7;
}
static Number steps(Number x, int thread, int count) {
  while (count-- > 0) x = step(x, thread);
  return x;
}

static void* run(void* argument) {
  const int thread = (int)(long)argument;
  Number x = (Number)thread;
  while (!resting) x = step(x, thread);
  __atomic_add_fetch(&at_rest, 1, __ATOMIC_SEQ_CST);
  while (!bounded) usleep(1000);
  x = steps(x, thread, 20000);
  __atomic_add_fetch(&at_end, 1, __ATOMIC_SEQ_CST);
  while (!ended) usleep(1000);
  return (void*)x;
}

static void* run_shortly(void* unused) {
  (void)unused;
  return (void*)steps(1, 0, 100);
}

static void on_fault(int number, siginfo_t* info, void* context) {
  static int readable = 41;
  (void)number, (void)info;
  puts("in the handler");
  fflush(stdout);
  wait_for("resume");
  ((ucontext_t*)context)->uc_mcontext.gregs[REG_RDI] = (long long)&readable;
}
static void* meet_fault(void* unused) {
  (void)unused;
  return (void*)(long)faulting(NULL);
}

static int ends[2];  // of a pipe
static void* wait_in_call(void* unused) {
  (void)unused;
  char byte = 0;
  return (void*)(read_byte(ends[0], &byte, 1) + byte);
}

static void say(const char* text) {
  puts(text);
  fflush(stdout);
}
static void tell(const char* name) {
  Number all = 0, leaves = 0;
  wait_for(name);
  for (int i = 0; i < threads; ++i) all += counted[i].steps, leaves += counted[i].leaves;
  printf("%s %lu %lu\n", name, all, leaves);
  fflush(stdout);
}
static void* result_of(void* (*function)(void*)) {
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, function, NULL);
  pthread_join(thread, &result);
  return result;
}

int main(int argc, char** argv) {
  pthread_t started[kMostThreads];
  threads = argc > 1 ? atoi(argv[1]) : 4;
  for (long i = 0; i < threads; ++i) pthread_create(&started[i], NULL, run, (void*)i);
  tell("before");
  tell("begin");
  tell("end");
  tell("after");
  wait_for("rest");
  resting = 1;
  while (at_rest < threads) usleep(1000);
  say("rest");
  wait_for("bounded");
  bounded = 1;
  while (at_end < threads) usleep(1000);
  say("bounded");
  wait_for("short");
  for (int i = 0; i < 200; ++i) result_of(run_shortly);
  say("short");
  wait_for("fork");
  const pid_t child = fork();
  if (child == 0) {
    steps(1, 0, 5000);
    exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  printf("fork %d\n", status);
  fflush(stdout);
  pthread_t waiting;
  void* got = NULL;
  wait_for("waiting");
  if (pipe(ends) != 0 || pthread_create(&waiting, NULL, wait_in_call, NULL) != 0) abort();
  usleep(100000);
  say("waiting");
  wait_for("woken");
  if (write(ends[1], "\51", 1) != 1) abort();
  pthread_join(waiting, &got);
  printf("woken %ld\n", (long)got);
  fflush(stdout);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  wait_for("fault");
  printf("fault %ld\n", (long)result_of(meet_fault));
  fflush(stdout);
  wait_for("stop");
  ended = 1;
  for (int i = 0; i < threads; ++i) pthread_join(started[i], NULL);
  say("stop");
  return 0;
}
