#include "launch/filter.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "launch/exact.h"
#include "launch/names.h"

namespace fbleprof::launch {
namespace {

// FNV-1a: each filter has a folder of its own.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// The report checks the patterns. Returns its complaint, or "".
std::string complaint_about(const std::string& filter, const std::string& report) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(report.c_str(), report.c_str(), "--left-out", filter.c_str(), nullptr);
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char bytes[512];
  for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? std::string() : text.substr(0, text.find('\n'));
}

}  // namespace

std::string prepare_filter(const std::string& filter) {
  const std::string report = report_path();
  if (access(report.c_str(), X_OK) != 0) {
    return "--only, --not: " + report + " was not found: install it beside fble-prof";
  }
  if (const std::string wrong = complaint_about(filter, report); !wrong.empty()) {
    return "--only, --not: " + wrong;
  }
  const std::string folder = plan_folder("/left-out-" + hash_of(filter));
  if (folder.empty()) {
    return "--only, --not: cannot make a folder for tables: point XDG_CACHE_HOME to one";
  }
  setenv("FBLEPROF_FILTER_TABLES", folder.c_str(), 1);
  setenv("FBLEPROF_FILTER_TOOL", report.c_str(), 1);
  return {};
}

}  // namespace fbleprof::launch
