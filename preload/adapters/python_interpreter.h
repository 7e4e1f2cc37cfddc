// The structures and functions of CPython that the adapter needs. It finds them at run time,
// because it does not link Python.
#pragma once

#include <stdint.h>
#include <string.h>

#include "adapters/recorder.h"

namespace fbleprof::adapters::python {

using Address = const char*;

// Byte offsets of the fields that we read in the interpreter's structures.
struct Layout {
  int minor;               // Python 3.minor
  int thread_frames;       // thread state: its newest frame or, if has_cframes, its cframe
  bool has_cframes;        // then a frame is entered by each invocation of the loop:
  int newest, outer;       // cframe: its newest frame, and the cframe around it
  int code, caller;        // frame
  int entry, entry_value;  // frame: the byte that tells where the loop was entered; -1: all are
  bool is_entry_extra;     // then that frame is no function, but stands below the first one
  int line, file, name;    // code object
  int ascii, wide;         // string: its characters
  int profiler;            // thread state: profile function
  int tracing;             // thread state: not 0 while a profile function runs; -1: 3.12's way
};
constexpr int kTypeOf = 8;      // any object
constexpr int kThreadNext = 8;  // thread state

// The running version, and the types of its objects. Null before find_interpreter has found them.
extern const Layout* layout;
extern Address code_type, string_type, module_type;

// The interpreter's functions.
struct Python {
  void* (*this_thread)();
  const char* (*version)();
  void* (*new_empty_code)(const char* file, const char* name, int line);
  void (*release)(void* object);
  void* loop;
  long (*request_extra)(void (*free)(void*));
  int (*get_extra)(void* code, long index, void** extra);
  int (*set_extra)(void* code, long index, void* extra);
  void* (*main_interpreter)();
  void* (*first_thread)(void* interpreter);
  void* (*sys_object)(const char* name);  // borrowed
  // 3.12 and later:
  void (*profile_this)(void* function, void* object);
  void (*profile_all)(void* function, void* object);  // threads of this interpreter
  void* (*this_interpreter)();
  void (*keep)(void* object);
};
extern Python python;

// Finds all of these but what counting needs. Returns a line that says what is missing, or null.
// `runtime`: _PyRuntime.
const char* find_interpreter(void* runtime);
// Whether the calling thread and a new object are as the table says, which debug builds are not.
// Returns a line that says what differs, or null. Needs the interpreter's lock.
const char* check_interpreter();
inline constexpr char kOtherStructures[] = "Python: this build has other structures than a release";
// Finds the functions that lead to all threads.
bool find_thread_functions();
// Finds the additional functions that counting needs.
bool find_exact_functions();

template <typename T>
T at(Address object, int offset) {
  T value;
  memcpy(&value, object + offset, sizeof value);
  return value;
}

template <typename T>
void put(Address object, int offset, T value) {
  __atomic_store_n(reinterpret_cast<T*>(const_cast<char*>(object) + offset), value,
                   __ATOMIC_RELAXED);
}

// Reads memory that may be changing, or freed.
inline bool peek(Address from, void* to, size_t bytes) {
  return from && fbleprof_peek(from, to, bytes);
}

// Whether it is a code object whose name and file can be read. Any thread.
bool is_code(Address code);

// The block of a code object; 0: it is not one, or is changing. Functions are known by name, file
// and line: code objects come and go, and another one may have the same address. Any thread, the
// signal handler included.
fbleprof_block block_of_code(Address code);

}  // namespace fbleprof::adapters::python
