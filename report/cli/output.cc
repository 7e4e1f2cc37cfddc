#include "report/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace fbleprof::report {
namespace {

bool is_stdout(const std::string& file) { return file.empty() || file == "-"; }

}  // namespace

Status check_output(const std::string& file, bool is_binary) {
  if (!is_binary || !is_stdout(file) || isatty(STDOUT_FILENO) == 0) return std::nullopt;
  return Error{"fble-prof-report", std::nullopt, "this format is binary, and stdout is a terminal",
               "give it a file: -o FILE"};
}

Status write_output(const std::string& file, const std::string& text) {
  if (is_stdout(file)) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) == 0 || errno == EPIPE) return std::nullopt;
    return Error{"stdout", std::nullopt, "cannot write the report", std::strerror(errno)};
  }
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr) return Error{file, std::nullopt, "cannot write", std::strerror(errno)};
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const int why = errno;
  if (std::fclose(out) == 0 && written) return std::nullopt;
  const int reason = written ? errno : why;
  std::remove(file.c_str());
  return Error{file, std::nullopt, "cannot write", std::strerror(reason)};
}

}  // namespace fbleprof::report
