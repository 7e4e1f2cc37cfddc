/* A small interpreter that the profiler's signal handler reads at each sample. It calls the
 * profiler twice: once at its start, and once for each function that a sample meets first. Build it
 * with: cc -pthread $(pkg-config --cflags fbleprof) sampled_interpreter.c -o sampled_interpreter */
#include <fbleprof/fbleprof.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A function of the interpreted language. */
enum opcode { WORK, CALL, CALL_NATIVE, RETURN };
struct instruction {
  enum opcode opcode;
  int operand;
};
struct function {
  const char* name;
  uint32_t line;
  struct instruction code[6];
};
static const struct function program[] = {
    {"main", 1, {{CALL, 1}, {CALL, 2}, {CALL_NATIVE, 3}, {RETURN, 0}}},
    {"light", 5, {{WORK, 1}, {RETURN, 0}}},
    {"heavy", 9, {{WORK, 3}, {RETURN, 0}}},
    {"callback", 13, {{WORK, 2}, {CALL, 1}, {RETURN, 0}}},
};

/* A frame of the interpreter's own stack. `loop` is a variable of the invocation of run() that runs
 * it: the mark by which the profiler finds the place on the machine stack. */
struct frame {
  const struct function* function;
  const struct instruction* next;
  struct frame* caller;
  const void* loop;
};
static __thread struct frame* newest;

static volatile unsigned long sink;
static void work(int units) {
  int i;
  for (i = 0; i < units * 1000; ++i) sink += (unsigned long)i;
}

static void run(const struct function* function);
/* A function of the runtime that calls back into scripts. */
static void apply(const struct function* function) { run(function); }

/* The loop. It runs calls from script to script itself, and is called again by apply(). */
static void run(const struct function* function) {
  struct frame frames[8], *frame = frames;
  frame->function = function;
  frame->next = function->code;
  frame->caller = newest;
  frame->loop = frames;
  newest = frame; /* last, when all of it is set: a sample may come at any instruction */
  for (;;) {
    const struct instruction* at = frame->next++;
    switch (at->opcode) {
      case WORK:
        work(at->operand);
        break;
      case CALL:
        frame[1].function = &program[at->operand];
        frame[1].next = program[at->operand].code;
        frame[1].caller = frame;
        frame[1].loop = frames;
        newest = ++frame;
        break;
      case CALL_NATIVE:
        apply(&program[at->operand]);
        break;
      case RETURN:
        newest = frame->caller;
        if (frame-- == frames) return;
        break;
    }
  }
}

/* The reader: one function a call, newest first. It runs in a signal handler. */
struct reading {
  int has_begun;
  const struct frame* next;
};
static int read_frame(void* state, fbleprof_frame* out) {
  struct reading* reading = (struct reading*)state;
  struct frame frame;
  fbleprof_source source = {NULL, "program.x", 0, 0, "X"};
  uint64_t key;
  if (!reading->has_begun) reading->next = newest;
  reading->has_begun = 1;
  if (!reading->next || !fbleprof_peek(reading->next, &frame, sizeof frame)) return 0;
  out->place[0] = (uint64_t)(uintptr_t)&reading->next->function;
  out->value[0] = (uint64_t)(uintptr_t)frame.function;
  out->place[1] = (uint64_t)(uintptr_t)&reading->next->caller;
  out->value[1] = (uint64_t)(uintptr_t)frame.caller;
  reading->next = frame.caller;
  /* Functions of this interpreter are never freed, so their addresses are good keys. */
  key = (uint64_t)(uintptr_t)frame.function;
  out->block = fbleprof_block_of_key(key);
  if (out->block == 0) {
    source.name = frame.function->name;
    source.line = frame.function->line;
    out->block = fbleprof_block_with_key(key, &source);
  }
  out->mark = (uint64_t)(uintptr_t)frame.loop;
  return 1;
}

static void* script(void* unused) {
  int i;
  for (i = 0; i < 30000; ++i) run(&program[0]);
  return unused;
}

int main(void) {
  /* The loop's address, as data: ISO C does not convert pointers to functions. */
  void (*const loop)(const struct function*) = run;
  const void* address;
  pthread_t thread;
  memcpy(&address, &loop, sizeof address);
  fbleprof_read_stack(address, read_frame);
  if (pthread_create(&thread, NULL, script, NULL) != 0) return 1;
  script(NULL);
  pthread_join(thread, NULL);
  return 0;
}
