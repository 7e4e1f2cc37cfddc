// Names that would do harm if printed unescaped: of blocks, their files, and threads.
// untrusted_names.sh also renames the functions and the program, and changes the text of a comment
// here.
//   untrusted_names ARGUMENT...
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>

static const char* const names[] = {
    "\033[31mred\033[0m",  // colours
    "\033]0;title\007",    // the window's title
    "\033P+q544e\033\\",   // a question that the terminal answers
    "\302\233"
    "31mC1",  // the same as escape and bracket, in one character
    "line\nINJECTED\r\nINJECTED",
    "\t\v\f\b\177",
    "right\342\200\256tfel",  // what follows runs from right to left
    "zero\342\200\213width",
    "\377\300\257 no UTF-8",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-1+1",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "</script><script>alert(1)</script><!--",
    "\"><img src=x onerror=alert(1)>",
    "a;b;c 12",
    "fn=(1) x",
    "\\",
    "\"quoted\" 'too'",
    "[root]",
    "",
    " ",
    "`id`$(id)",
    "../../etc/passwd",
    "%s%n%x",
};
enum { kNames = sizeof names / sizeof *names };

static volatile double sink;

__attribute__((noinline)) void work(int rounds) {
  for (int i = 1; i < rounds; ++i) sink = sink + 1.0 / i;  // harmful comment
}

__attribute__((noinline)) void caller(fbleprof_block block) {
  fbleprof_enter(block);
  work(400000);
  fbleprof_leave(block);
}

static void* thread(void* number) {
  const int n = (int)(intptr_t)number;
  prctl(PR_SET_NAME, names[n]);
  for (int i = 0; i < kNames; ++i) {
    caller(fbleprof_block_new(names[i], names[(i + n) % kNames], 7));
  }
  return NULL;
}

int main(void) {
  pthread_t threads[kNames];
  for (int i = 0; i < kNames; ++i) pthread_create(&threads[i], NULL, thread, (void*)(intptr_t)i);
  for (int i = 0; i < kNames; ++i) pthread_join(threads[i], NULL);
  printf("done\n");
  return 0;
}
