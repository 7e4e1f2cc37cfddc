// Functions that have names of libc's, but not their types. libc's functions of these names block,
// or are among those that the recorder wraps.
#include <stdarg.h>
#include <stdio.h>

struct pair {
  long first, second;
};

int pause(int a, double b);
double poll(double a, float b, long c);
struct pair send(int a, int b, int c, int d, int e, int f, int g, int h);
double connect(int count, ...);
long double flock(long double a);
int timer_create(const char* name, long period, int* runs);

int pause(int a, double b) { return a + (int)(b * 10); }
double poll(double a, float b, long c) { return a * 2 + (double)b + (double)c; }
struct pair send(int a, int b, int c, int d, int e, int f, int g, int h) {
  return (struct pair){a + b + c + d, e + f + g + h};
}
double connect(int count, ...) {
  va_list list;
  double sum = 0;
  va_start(list, count);
  for (int i = 0; i < count; ++i) sum += va_arg(list, double);
  va_end(list);
  return sum;
}
long double flock(long double a) { return a / 3; }
int timer_create(const char* name, long period, int* runs) {
  *runs += 1;
  return name[0] + (int)period;
}

void call_own_names(const char* when);
void call_own_names(const char* when) {
  const struct pair both = send(1, 2, 3, 4, 5, 6, 7, 8);
  int runs = 0;
  printf("%s: timer %d, ", when, timer_create("a", 3, &runs) + runs);
  printf("%s: %d %g %ld %ld %g %.12Lg\n", when, pause(2, 1.5), poll(0.25, 0.5F, 3), both.first,
         both.second, connect(9, 1., 2., 3., 4., 5., 6., 7., 8., 9.5), flock(1.0L));
}
// Runs before any constructor of a library that was loaded later, or preloaded.
__attribute__((constructor)) static void early(void) { call_own_names("early"); }
