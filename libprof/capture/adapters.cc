#include "capture/adapters.h"

#include <dlfcn.h>
#include <errno.h>

#include "capture/loader_symbols.h"
#include "capture/options.h"
#include "capture/profile.h"
#include "capture/program_path.h"

namespace fbleprof::capture {

namespace {

constexpr const char* kPythonsData = "_PyRuntime";
bool is_python_loaded = false;

// Turns "FOLDER/libfbleprof.so" into "FOLDER/NAME".
Path beside_us(const char* name) {
  Path path{own_file()};
  std::size_t length = path.size();
  while (length > 0 && path.c_str()[length - 1] != '/') --length;
  path.cut_to(length);
  return path.add(name);
}

// dlopen and dlsym, which are in a separate library before glibc 2.34. Python needs that library.
void* load(const Path& path, const char* function) {
  const auto open = reinterpret_cast<void* (*)(const char*, int)>(any_definition("dlopen"));
  const auto find = reinterpret_cast<void* (*)(void*, const char*)>(any_definition("dlsym"));
  if (!open || !find) return nullptr;
  void* library = open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? find(library, function) : nullptr;
}

}  // namespace

bool is_python() { return profile.settings.python && any_definition(kPythonsData) != nullptr; }

bool is_python_itself() {
  const char* name = program_path();
  for (const char* at = name; *at; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* word = "python"; *word; ++word, ++name) {
    if (*name != *word) return false;
  }
  return true;
}

void load_python_adapter() {
  if (is_python_loaded || !is_profiling() || !is_own_process() || !is_python()) return;
  const auto this_thread =
      reinterpret_cast<void* (*)()>(any_definition("PyGILState_GetThisThreadState"));
  if (!this_thread || !this_thread()) return;
  is_python_loaded = true;
  const int saved_errno = errno;
  using Start = const char* (*)(void* runtime, int exact);
  const Path path = beside_us("libfbleprof_python.so");
  const auto start = reinterpret_cast<Start>(load(path, "fbleprof_python_start"));
  const char* obstacle = start
                             ? start(any_definition(kPythonsData), !profile.settings.exact.empty())
                             : "Python: libfbleprof_python.so cannot be loaded";
  if (obstacle) remark(Text<200>{obstacle}.add(": its scripts are not shown").c_str());
  errno = saved_errno;
}

}  // namespace fbleprof::capture
