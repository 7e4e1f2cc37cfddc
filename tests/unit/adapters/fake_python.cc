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

long _PyEval_RequestCodeExtraIndex(void (*)(void*)) { return fake_python->extra_index; }
int _PyCode_GetExtra(void* code, long, void** extra) {
  *extra = fake_python->extras[code];
  return 0;
}
int _PyCode_SetExtra(void* code, long, void* extra) {
  fake_python->extras[code] = extra;
  return 0;
}
void* PyInterpreterState_Main() { return fake_python; }
void* PyInterpreterState_ThreadHead(void*) { return fake_python->first_thread; }
void* PySys_GetObject(const char*) { return fake_python->setprofile; }
void PyEval_SetProfileAllThreads(void* function, void*) {
  fake_python->profiles_all_threads = function;
}
}
