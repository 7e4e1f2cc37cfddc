/* A small interpreter with tail calls, exceptions and green threads, and what it tells the
 * profiler. Build it with: cc $(pkg-config --cflags fbleprof) interpreter.c -o interpreter */
#include <fbleprof/fbleprof.h>
#include <setjmp.h>
#include <stdio.h>

/* A function of the interpreted language: a list of instructions. */
enum opcode { WORK, CALL, TAIL_CALL, TRY, THROW, YIELD, RETURN };
struct instruction {
  enum opcode opcode;
  int operand; /* amount of WORK; number of the function that is called */
};
struct function {
  const char* name;
  uint32_t line;
  struct instruction code[6];
};
static const struct function program[] = {
    {"main", 1, {{WORK, 5}, {CALL, 1}, {CALL, 3}, {CALL, 5}, {RETURN, 0}}},
    {"even", 8, {{WORK, 1}, {TAIL_CALL, 2}}},
    {"odd", 12, {{WORK, 2}, {RETURN, 0}}},
    {"careful", 20, {{TRY, 4}, {WORK, 3}, {RETURN, 0}}},
    {"careless", 26, {{WORK, 4}, {CALL, 6}, {RETURN, 0}}},
    {"job", 30, {{WORK, 10}, {YIELD, 0}, {WORK, 20}, {YIELD, 0}, {RETURN, 0}}},
    {"fail", 40, {{THROW, 0}}},
};

/* Where a function stands in its code: a frame of the interpreter's own stack. */
struct frame {
  int function, next;
};
struct green_thread {
  struct frame frames[16];
  int depth;
  fbleprof_context* context; /* its blocks */
};

/* A block is made when its function is first called. The function's address is the key, so a lookup
 * finds it. An interpreter with a field to spare in its function objects keeps the block there. */
static fbleprof_block block_of(int number) {
  const struct function* function = &program[number];
  const uint64_t key = (uint64_t)(uintptr_t)function;
  fbleprof_block block = fbleprof_block_of_key(key);
  if (block == 0) {
    fbleprof_source source = {function->name, "program.x", 0, 0, "X"};
    source.line = function->line;
    block = fbleprof_block_with_key(key, &source);
  }
  return block;
}

static jmp_buf* handler; /* of the innermost TRY */

/* Runs a green thread until it yields or ends. Returns whether it ended. What a TRY calls does not
 * yield. */
static int run(struct green_thread* thread, int bottom) {
  while (thread->depth > bottom) {
    struct frame* frame = &thread->frames[thread->depth - 1];
    const struct instruction* at = &program[frame->function].code[frame->next++];
    switch (at->opcode) {
      case WORK:
        fbleprof_tick((uint64_t)at->operand);
        break;
      case CALL:
        fbleprof_enter(block_of(at->operand));
        thread->frames[thread->depth].function = at->operand;
        thread->frames[thread->depth++].next = 0;
        break;
      case TAIL_CALL:
        fbleprof_replace(block_of(at->operand));
        frame->function = at->operand;
        frame->next = 0;
        break;
      case TRY: {
        /* longjmp skips the leaves: the mark tells which blocks go on. */
        jmp_buf here;
        jmp_buf* volatile outer = handler;
        const int depth = thread->depth;
        const volatile uint64_t mark = fbleprof_mark();
        handler = &here;
        if (setjmp(here) == 0) {
          fbleprof_enter(block_of(at->operand));
          thread->frames[thread->depth].function = at->operand;
          thread->frames[thread->depth++].next = 0;
          run(thread, depth);
        } else {
          thread->depth = depth;
          fbleprof_rewind(mark);
        }
        handler = outer;
        break;
      }
      case THROW:
        longjmp(*handler, 1);
      case YIELD:
        return 0;
      case RETURN:
        fbleprof_leave_newest();
        --thread->depth;
        break;
    }
  }
  return 1;
}

/* A visitor: one line per block, indented by its depth. */
static int show(const fbleprof_visit* visit, void* unused) {
  (void)unused;
  if (visit->block == 0) return 0; /* native code, [root] and the like */
  printf("%*s%.*s (line %u): %lu calls, %lu tail calls, %lu ticks\n", (int)visit->depth * 2, "",
         (int)visit->name_length, visit->name, (unsigned)visit->line, (unsigned long)visit->calls,
         (unsigned long)visit->tail_calls, (unsigned long)visit->ticks);
  return 0;
}

int main(void) {
  struct green_thread threads[2];
  int running = 2, i;
  for (i = 0; i < 2; ++i) {
    fbleprof_context* scheduler;
    threads[i].context = fbleprof_context_new(0);
    threads[i].depth = 1;
    threads[i].frames[0].function = 0;
    threads[i].frames[0].next = 0;
    scheduler = fbleprof_context_switch(threads[i].context);
    fbleprof_enter(block_of(0));
    fbleprof_context_switch(scheduler);
  }
  while (running > 0) {
    for (i = 0; i < 2; ++i) {
      fbleprof_context* scheduler;
      if (threads[i].depth == 0) continue;
      scheduler = fbleprof_context_switch(threads[i].context);
      running -= run(&threads[i], 0);
      fbleprof_context_switch(scheduler);
    }
  }
  for (i = 0; i < 2; ++i) fbleprof_context_free(threads[i].context);
  fbleprof_query(show, NULL);
  return 0;
}
