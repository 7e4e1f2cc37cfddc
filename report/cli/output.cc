#include "report/cli/output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

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
    // A text longer than stdout's buffer is written, and lost, before fflush.
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    const int why = errno;
    if (std::fflush(stdout) == 0 && written) return std::nullopt;
    const int reason = written ? errno : why;
    if (reason == EPIPE) return std::nullopt;
    return Error{"stdout", std::nullopt, "cannot write the report", std::strerror(reason)};
  }
  std::FILE* out = std::fopen(file.c_str(), "wb");
  if (out == nullptr) return Error{file, std::nullopt, "cannot write", std::strerror(errno)};
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const int why = errno;
  if (std::fclose(out) == 0 && written) return std::nullopt;
  const int reason = written ? errno : why;
  // Removes an incomplete report, but not a device or pipe.
  struct stat status;
  if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) std::remove(file.c_str());
  return Error{file, std::nullopt, "cannot write", std::strerror(reason)};
}

namespace {

// Lines that fit on the terminal; 0 = not a terminal.
std::size_t terminal_lines() {
  winsize size;
  if (isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

}  // namespace

Status show_on_terminal(const std::string& text) {
  const char* pager = std::getenv("PAGER");
  if (pager == nullptr) pager = "less";
  const std::size_t lines = terminal_lines();
  const auto needed = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  if (lines == 0 || needed < lines || *pager == '\0' || std::string_view(pager) == "cat") {
    return write_output("", text);
  }
  // Keeps colours, and uses the normal screen, so that the text stays visible.
  setenv("LESS", "FRX", 0);
  std::FILE* pipe = popen(pager, "w");
  if (pipe == nullptr) return write_output("", text);
  const bool written = std::fwrite(text.data(), 1, text.size(), pipe) == text.size();
  const int status = pclose(pipe);
  // 127: the shell found no such pager. Quitting a pager early is not an error.
  constexpr int kNotFound = 127;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotFound) return write_output("", text);
  (void)written;
  return std::nullopt;
}

}  // namespace fbleprof::report
