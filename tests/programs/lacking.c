// In place of the recorder, for the library with the wrappers of calls: a libc that lacks the calls
// that LACKS names. Linked into no program, but preloaded behind that library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// As signal_safe/wait_calls.h has it.
struct definition {
  void* next;
  const void* known_as;
  void* of_libc;
  char is_libcs;
};

static int is_lacking(const char* name) {
  const char* lacking = getenv("LACKS");
  const size_t length = strlen(name);
  while (lacking != NULL && *lacking != 0) {
    const size_t word = strcspn(lacking, " ");
    if (word == length && memcmp(lacking, name, length) == 0) return 1;
    lacking += word + (lacking[word] != 0);
  }
  return 0;
}

void fbleprof_find_definition(const char* name, const void* after, struct definition* found) {
  (void)after;
  void* function = is_lacking(name) ? NULL : dlsym(RTLD_NEXT, name);
  found->next = found->of_libc = function;
  found->known_as = function;
  found->is_libcs = function != NULL;
}
