#include "adapters/python_interpreter.h"

#include <stdlib.h>

#include "adapters/python_text.h"

namespace fbleprof::adapters::python {

const Layout* layout = nullptr;
Address code_type = nullptr, string_type = nullptr, module_type = nullptr;
Python python;

namespace {

constexpr Layout kLayouts[] = {
    {9, 24, false, 0, 0, 32, 24, -1, 0, false, 40, 104, 112, 48, 72, 56, 44},
    {10, 24, false, 0, 0, 32, 24, -1, 0, false, 40, 104, 112, 48, 72, 56, 44},
    {11, 56, true, 8, 16, 32, 48, 68, 1, false, 72, 112, 128, 48, 72, 64, 44},
    {12, 56, true, 0, 8, 0, 8, 70, 3, true, 68, 112, 128, 40, 56, 64, -1},
    {13, 72, false, 0, 0, 0, 8, 70, 3, true, 68, 112, 128, 40, 56, 80, -1},
};

void* handle;

template <typename T>
bool find(void* handle, const char* name, T& to) {
  void* found = dlsym(handle, name);
  to = reinterpret_cast<T>(found);
  return found != nullptr;
}

bool find_functions() {
  void* code = nullptr;
  void* string = nullptr;
  void* module = nullptr;
  const bool found = find(handle, "PyGILState_GetThisThreadState", python.this_thread) &&
                     find(handle, "Py_GetVersion", python.version) &&
                     find(handle, "PyCode_NewEmpty", python.new_empty_code) &&
                     find(handle, "Py_DecRef", python.release) &&
                     find(handle, "_PyEval_EvalFrameDefault", python.loop) &&
                     find(handle, "PyCode_Type", code) && find(handle, "PyUnicode_Type", string) &&
                     find(handle, "PyModule_Type", module);
  code_type = static_cast<Address>(code);
  string_type = static_cast<Address>(string);
  module_type = static_cast<Address>(module);
  return found;
}

bool is_layout_right() {
  constexpr int kLine = 4711;
  void* code = python.new_empty_code("fbleprof.py", "fbleprof_name", kLine);
  if (!code) return false;
  const auto object = static_cast<Address>(code);
  Text<kMostName> name, file;
  const bool is_as_expected =
      at<Address>(object, kTypeOf) == code_type && at<int>(object, layout->line) == kLine &&
      name.read(at<Address>(object, layout->name)) &&
      file.read(at<Address>(object, layout->file)) && strcmp(name.c_str(), "fbleprof_name") == 0 &&
      strcmp(file.c_str(), "fbleprof.py") == 0;
  python.release(code);
  return is_as_expected;
}

const Layout* layout_of(const char* version) {
  if (strncmp(version, "3.", 2) != 0) return nullptr;
  const int minor = atoi(version + 2);
  for (const Layout& one : kLayouts) {
    if (one.minor == minor) return &one;
  }
  return nullptr;
}

}  // namespace

const char* find_interpreter(void* runtime) {
  Dl_info info;
  handle = RTLD_DEFAULT;
  if (!find_functions()) {
    if (!dladdr(runtime, &info)) return "Python: its library is not known";
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle || !find_functions()) return "Python: its functions are not exported";
  }
  layout = layout_of(python.version());
  if (!layout) return "Python: only the scripts of 3.9 to 3.13 are shown";
  return nullptr;
}

const char* check_interpreter() {
  if (!python.this_thread()) return "Python: no thread state";
  return is_layout_right() ? nullptr : kOtherStructures;
}

bool find_thread_functions() {
  return find(handle, "PyInterpreterState_Main", python.main_interpreter) &&
         find(handle, "PyInterpreterState_ThreadHead", python.first_thread);
}

bool find_exact_functions() {
  const auto either = [](const char* name, const char* older, auto& to) {
    return find(handle, name, to) || find(handle, older, to);
  };
  return either("PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex",
                python.request_extra) &&
         either("PyUnstable_Code_GetExtra", "_PyCode_GetExtra", python.get_extra) &&
         either("PyUnstable_Code_SetExtra", "_PyCode_SetExtra", python.set_extra) &&
         find_thread_functions() && find(handle, "PySys_GetObject", python.sys_object) &&
         (layout->tracing >= 0 ||
          (find(handle, "PyEval_SetProfile", python.profile_this) &&
           find(handle, "PyEval_SetProfileAllThreads", python.profile_all) &&
           find(handle, "PyInterpreterState_Get", python.this_interpreter) &&
           find(handle, "Py_IncRef", python.keep)));
}

namespace {

struct Code {
  Text<kMostName> name;
  Text<kMostFile> file;
  uint32_t line;

  bool read(Address code) {
    char head[136];
    if (!peek(code, head, sizeof head) || at<Address>(head, kTypeOf) != code_type) return false;
    line = at<uint32_t>(head, layout->line);
    return name.read(at<Address>(head, layout->name)) && file.read(at<Address>(head, layout->file));
  }
};

}  // namespace

bool is_code(Address code) {
  Code read;
  return read.read(code);
}

fbleprof_block block_of_code(Address code) {
  Code read;
  if (!read.read(code)) return 0;
  const uint64_t key = read.file.hash(read.name.hash(read.line + 1)) >> 8 | 1;
  if (const fbleprof_block known = fbleprof_block_of_key(key)) return known;
  const fbleprof_source source = {read.name.c_str(), read.file.c_str(), read.line, 0, "Python"};
  return fbleprof_block_with_key(key, &source);
}

}  // namespace fbleprof::adapters::python
