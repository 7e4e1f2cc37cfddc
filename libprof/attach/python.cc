#include "attach/python.h"

#include <cstdint>
#include <set>
#include <vector>

#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/own_library.h"
#include "attach/refusal.h"

namespace fbleprof::attach {

namespace {

// The interpreter's data, which every Python since 3.7 exports; 0: there is none. It is in the
// program or in libpython.
std::uint64_t find_runtime(pid_t pid, const std::vector<Mapping>& mappings) {
  std::set<std::string> seen;
  for (const Mapping& each : mappings) {
    const bool is_program = seen.empty();
    if (!each.path.starts_with('/') || !seen.insert(each.path).second) continue;
    if (!is_program && each.path.find("libpython") == std::string::npos) continue;
    const std::string copy = mapped_file_from_outside(pid, each);
    const std::uint64_t found = find_function(mappings, each.path, copy, "_PyRuntime");
    if (found != 0) return found;
  }
  return 0;
}

}  // namespace

Status show_scripts(pid_t pid, const std::string& adapter) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  if (find_library(mappings, adapter)) return std::nullopt;
  const std::uint64_t runtime = find_runtime(pid, mappings);
  if (runtime == 0) return std::nullopt;
  const auto taken = BorrowedThread::take(pid);
  if (!taken) return taken.error();
  BorrowedThread& thread = **taken;
  if (const Status bad = load_library(pid, thread, adapter)) return bad;
  const std::uint64_t start = find_in_library(pid, adapter, "fbleprof_python_attach");
  if (start == 0) return error_of(pid, adapter + " cannot be read");
  const auto obstacle = thread.call(start, runtime);
  if (!obstacle) return obstacle.error();
  if (*obstacle != 0) return error_of(pid, read_text(pid, *obstacle));
  return std::nullopt;
}

}  // namespace fbleprof::attach
