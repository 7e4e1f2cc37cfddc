#!/usr/bin/env python3
"""large_program.py [options] >FILE.c: writes a C program of many functions in levels that call each
other at random, so that it has as many contexts as there are ways through it.

Each function of a level calls functions of the next: it picks one of its `--sites` places to call
from each time, and one call in four goes on to the first of them. The program takes the number of
walks (default 1000), of threads (1) and of rounds (1), and prints how many calls it made. Each thread
takes these walks, and each round takes the same ones again: the first makes contexts, the others
only find them.

  --functions N  in all levels together, default 80
  --levels N     default 8; the deepest calls nothing
  --sites N      places to call from, in each function, default 4
  --fan-out N    functions that these places share, default as many as places
  --seed N       of the random program, default 5
"""
import argparse
import random
import sys

RUNTIME = """\
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Each thread has its own: threads that share a line would cost more than any hook. */
static __thread unsigned long state;
static __thread unsigned long calls;

static inline unsigned next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 11);
}

/* Else the last call of a function becomes a jump. */
#define END __asm__ volatile("")
"""

MAIN = """\
static long walks = 1000;
static long rounds = 1;

static void *work(void *seed) {
  for (long round = 0; round < rounds; round++) {
    state = (unsigned long)seed;
    for (long i = 0; i < walks; i++) start[next() % (sizeof start / sizeof *start)]();
  }
  return (void *)calls;
}

int main(int argc, char **argv) {
  long threads = argc > 2 ? atol(argv[2]) : 1;
  if (argc > 1) walks = atol(argv[1]);
  if (argc > 3) rounds = atol(argv[3]);
  unsigned long sum = 0;
  pthread_t ids[64];
  if (threads > 64) return 2;
  /* A single thread is the main one: then nothing but calls is measured. */
  for (long i = 1; i < threads; i++)
    pthread_create(&ids[i], NULL, work, (void *)(88172645463325252ul + 7919ul * (unsigned long)i));
  sum += (unsigned long)work((void *)88172645463325252ul);
  for (long i = 1; i < threads; i++) {
    void *theirs;
    pthread_join(ids[i], &theirs);
    sum += (unsigned long)theirs;
  }
  printf("%lu\\n", sum);
  return 0;
}
"""


def function(number, targets):
    """One function; `targets` are the callees of its places, none on the last level."""
    if not targets:
        return f"void f{number}(void) {{ calls++; END; }}"
    places = " ".join(f"case {i}: f{target}(); break;" for i, target in enumerate(targets))
    return (f"void f{number}(void) {{\n  calls++;\n  switch (next() % {len(targets)}) {{ {places} }}\n"
            f"  if (next() % 4 == 0) f{targets[0]}();\n  END;\n}}")


def program(functions, levels, sites, fan_out, seed):
    """The source, as lines."""
    chance = random.Random(seed)
    width = functions // levels
    last = levels - 1
    yield RUNTIME
    for number in range(width * levels):
        yield f"void f{number}(void);"
    for number in range(width * levels):
        level = number // width
        callees = [(level + 1) * width + chance.randrange(width) for _ in range(fan_out or sites)]
        yield function(number, [callees[i % len(callees)] for i in range(sites)] if level < last else [])
    names = ", ".join(f"f{i}" for i in range(width))
    yield f"static void (*const start[])(void) = {{{names}}};\n{MAIN}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("functions", 80), ("levels", 8), ("sites", 4), ("fan-out", 0), ("seed", 5)):
        parser.add_argument(f"--{name}", type=int, default=default, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.levels < 2 or options.functions < options.levels or options.sites < 1:
        parser.error("it takes at least two levels, a function a level and a place to call from")
    sys.stdout.writelines(line + "\n" for line in program(
        options.functions, options.levels, options.sites, options.fan_out, options.seed))


if __name__ == "__main__":
    main()
