// What the adapter calls of CPython: a library that answers as a test tells it to.
#pragma once

#include <map>

struct FakePython {
  const char* version = "3.11.4 (main)";
  void* thread = nullptr;  // the calling thread's state
  void* (*new_empty_code)(const char* file, const char* name, int line) = nullptr;
  int released = 0;
  long extra_index = 1;
  std::map<void*, void*> extras;  // of code objects
  void* first_thread = nullptr;
  void* setprofile = nullptr;            // the object sys.setprofile
  void* profiles_all_threads = nullptr;  // what PyEval_SetProfileAllThreads was told
  int profiler = 0;                      // thread state: profile function; 0: is not written
  int kept = 0;                          // references to objects
};
