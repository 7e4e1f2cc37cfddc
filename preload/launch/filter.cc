#include "launch/filter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "launch/exact.h"
#include "launch/program_run.h"
#include "launch/report_tool.h"

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

// Runs `fble-prof-report --left-out FILTER FILE MODULE ...`. Returns its first complaint, or why it
// could not run, or "".
std::string complaint_of_report(const std::string& filter,
                                const std::vector<std::string>& files = {}) {
  std::vector<std::string> arguments = {"--left-out", filter};
  arguments.insert(arguments.end(), files.begin(), files.end());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::string("no pipe: ") + std::strerror(errno);
  const pid_t report = start_report(arguments, STDERR_FILENO, ends[1]);
  const int failure = errno;
  close(ends[1]);
  std::string text;
  char bytes[512];
  for (ssize_t got; (got = read(ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (report < 0) return std::string("cannot fork: ") + std::strerror(failure);
  if (wait_for(report) == 0) return {};
  return text.empty() ? report_path() + " failed" : text.substr(0, text.find('\n'));
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

Result<FilterFiles> prepare_filter(const std::string& filter) {
  const auto wrong = [](const std::string& what) {
    return Error{"--only, --not", std::nullopt, what, ""};
  };
  const std::string report = report_path();
  if (access(report.c_str(), X_OK) != 0) {
    return wrong(report + " was not found: install it beside fble-prof");
  }
  if (const std::string complaint = complaint_of_report(filter); !complaint.empty()) {
    return wrong(complaint);
  }
  const std::string folder = plan_folder("/left-out-" + hash_of(filter));
  if (folder.empty()) {
    return wrong("cannot make a folder for tables: point XDG_CACHE_HOME to one");
  }
  return FilterFiles{report, folder};
}

std::vector<std::string> tables_of(const std::string& filter,
                                   const std::vector<std::string>& modules) {
  std::vector<std::string> tables(modules.size());
  std::error_code failure;
  std::string folder = std::filesystem::temp_directory_path(failure) / "fbleprof.XXXXXX";
  if (failure || mkdtemp(folder.data()) == nullptr) return tables;
  const auto file_of = [&folder](std::size_t i) { return folder + "/" + std::to_string(i); };
  std::vector<std::string> files;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    files.push_back(file_of(i));
    files.push_back(modules[i]);
  }
  complaint_of_report(filter, files);
  for (std::size_t i = 0; i < modules.size(); ++i) tables[i] = bytes_of(file_of(i));
  std::filesystem::remove_all(folder, failure);
  return tables;
}

}  // namespace fbleprof::launch
