#include "fake_python.h"

extern "C" {

FakePython* fake_python = nullptr;
char _PyRuntime[64];
char PyCode_Type[64], PyUnicode_Type[64], PyModule_Type[64];

void* PyGILState_GetThisThreadState() { return fake_python->thread; }
const char* Py_GetVersion() { return fake_python->version; }
void* PyCode_NewEmpty(const char* file, const char* name, int line) {
  return fake_python->new_empty_code(file, name, line);
}
void Py_DecRef(void*) { ++fake_python->released; }
void* _PyEval_EvalFrameDefault(void*, void*, int) { return nullptr; }

// These have other names since 3.12, and the older ones are still there.
#define FUNCTIONS_FOR_EXTRAS(index, get, set)                      \
  long index(void (*)(void*)) { return fake_python->extra_index; } \
  int get(void* code, long, void** extra) {                        \
    *extra = fake_python->extras[code];                            \
    return 0;                                                      \
  }                                                                \
  int set(void* code, long, void* extra) {                         \
    fake_python->extras[code] = extra;                             \
    return 0;                                                      \
  }
FUNCTIONS_FOR_EXTRAS(_PyEval_RequestCodeExtraIndex, _PyCode_GetExtra, _PyCode_SetExtra)
FUNCTIONS_FOR_EXTRAS(PyUnstable_Eval_RequestCodeExtraIndex, PyUnstable_Code_GetExtra,
                     PyUnstable_Code_SetExtra)
void* PyInterpreterState_Main() { return fake_python; }
void* PyInterpreterState_ThreadHead(void*) { return fake_python->first_thread; }
void* PySys_GetObject(const char*) { return fake_python->setprofile; }
void* PyInterpreterState_Get() { return fake_python; }
void Py_IncRef(void*) { ++fake_python->kept; }
static void set_profile(void* thread, void* function, void* object) {
  if (fake_python->profiler == 0) return;
  auto** fields = reinterpret_cast<void**>(static_cast<char*>(thread) + fake_python->profiler);
  fields[0] = function;
  fields[2] = object;
}
void PyEval_SetProfile(void* function, void* object) {
  set_profile(fake_python->thread, function, object);
}
void PyEval_SetProfileAllThreads(void* function, void* object) {
  fake_python->profiles_all_threads = function;
  for (void* thread = fake_python->first_thread; thread; thread = static_cast<void**>(thread)[1]) {
    set_profile(thread, function, object);
  }
}
}
