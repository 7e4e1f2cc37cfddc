// fble-prof-report: shows what a profile holds.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "base/big_arrays.h"
#include "base/standard_descriptors.h"
#include "report/cli/left_out.h"
#include "report/cli/options.h"
#include "report/cli/output.h"
#include "report/cli/report.h"
#include "report/cli/serve.h"
#include "report/text/escape.h"
#include "report/text/progress_bar.h"

namespace {

constexpr int kShown = 0, kBroken = 1, kFailed = 2;

int write_out(const std::string& file, const std::string& text, bool for_people = false) {
  const auto failure = for_people ? fbleprof::report::show_on_terminal(text)
                                  : fbleprof::report::write_output(file, text);
  if (!failure) return kShown;
  fmt::print(stderr, "{}\n", fbleprof::report::escape(failure->line()));
  return kFailed;
}

int run(int argc, char** argv) {
  using namespace fbleprof;
  // Not for people: fble-prof and the recorder call this.
  if (argc > 1 && std::string_view(argv[1]) == "--left-out") {
    const auto failure = report::write_left_out_tables({argv + 2, argv + argc});
    if (!failure) return kShown;
    fmt::print(stderr, "{}\n", report::escape(failure->line()));
    return kFailed;
  }
  const auto options = report::parse_options(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}\n", report::escape(options.error().line()));
    return kFailed;
  }
  if (options->action == report::Options::Action::kHelp) return write_out("", report::help_text());
  if (options->action == report::Options::Action::kVersion) {
    return write_out("", "fble-prof-report " FBLEPROF_VERSION "\n");
  }
  if (options->action == report::Options::Action::kServe) {
    const auto failure = report::serve(*options, FBLEPROF_VERSION);
    if (!failure) return kShown;
    fmt::print(stderr, "{}\n", report::escape(failure->line()));
    return kFailed;
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
  if (made->is_written) return kShown;
  const bool for_people = options->output.empty() &&
                          options->action == report::Options::Action::kShow &&
                          options->look.format == report::Format::kText;
  const bool is_packing = options->action == report::Options::Action::kPack;
  const int status =
      write_out(is_packing ? std::string() : options->output, made->text, for_people);
  return status == kShown && made->broken ? kBroken : status;
}

}  // namespace

int main(int argc, char** argv) {
  fbleprof::reserve_standard_descriptors();
  // A closed pipe is noticed when writing, not by a signal in the middle of work.
  std::signal(SIGPIPE, SIG_IGN);
  fbleprof::keep_freed_memory();
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "fble-prof-report: not enough memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "fble-prof-report: {}\n", fbleprof::report::escape(error.what()));
  }
  return kFailed;
}
