// fble-prof-report: shows what a profile holds.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "report/cli/options.h"
#include "report/cli/progress_bar.h"
#include "report/cli/report.h"
#include "report/views/escape.h"

namespace {

constexpr int kShown = 0, kBroken = 1, kFailed = 2;

// A reader that went away (| head) is no failure.
int write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0 && errno != EPIPE) {
    fmt::print(stderr, "fble-prof-report: cannot write the report\n");
    return kFailed;
  }
  return kShown;
}

int run(int argc, char** argv) {
  using namespace fbleprof;
  const auto options = report::parse_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}\n", report::escape(options.error().line()));
    return kFailed;
  }
  if (options->view == report::View::kHelp) return write_out(report::help_text());
  if (options->view == report::View::kVersion) {
    return write_out("fble-prof-report " FBLEPROF_VERSION "\n");
  }
  report::ProgressBar progress(isatty(STDERR_FILENO) != 0);
  const auto made = report::make_report(*options, progress);
  progress.clear();
  if (!made) {
    fmt::print(stderr, "{}\n", report::escape(made.error().line()));
    return kFailed;
  }
  for (const std::string& warning : made->warnings) {
    fmt::print(stderr, "{}\n", report::escape(warning));
  }
  const int status = write_out(made->text);
  return status == kShown && made->broken ? kBroken : status;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe is seen where we write, not by a signal half-way through.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "fble-prof-report: not enough memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "fble-prof-report: {}\n", fbleprof::report::escape(error.what()));
  }
  return kFailed;
}
