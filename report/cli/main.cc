// fble-prof-report: shows what a profile holds.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "base/big_arrays.h"
#include "base/standard_descriptors.h"
#include "report/cli/left_out.h"
#include "report/cli/options.h"
#include "report/cli/output.h"
#include "report/cli/report.h"
#include "report/cli/serve.h"
#include "report/text/progress_bar.h"
#include "report/text/say.h"

namespace {

constexpr int kShown = 0, kBroken = 1, kFailed = 2;

int write_out(const std::string& file, const std::string& text, bool for_people = false) {
  const auto failure = for_people ? fbleprof::report::show_on_terminal(text)
                                  : fbleprof::report::write_output(file, text);
  if (!failure) return kShown;
  fbleprof::report::say(failure->line());
  return kFailed;
}

int run(int argc, char** argv) {
  using namespace fbleprof;
  // Not for people: fble-prof and the recorder call this.
  if (argc > 1 && std::string_view(argv[1]) == "--left-out") {
    const auto failure = report::write_left_out_tables({argv + 2, argv + argc});
    if (!failure) return kShown;
    report::say(failure->line());
    return kFailed;
  }
  const auto options = report::parse_options(argc, argv);
  if (!options) {
    report::say(options.error().line());
    return kFailed;
  }
  if (options->action == report::Options::Action::kHelp) return write_out("", report::help_text());
  if (options->action == report::Options::Action::kVersion) {
    return write_out("", "fble-prof-report " FBLEPROF_VERSION "\n");
  }
  if (options->action == report::Options::Action::kServe) {
    const auto failure = report::serve(*options, FBLEPROF_VERSION);
    if (!failure) return kShown;
    report::say(failure->line());
    return kFailed;
  }
  report::ProgressBar progress(isatty(STDERR_FILENO) != 0);
  const auto made = report::make_report(*options, progress);
  progress.clear();
  if (!made) {
    report::say(made.error().line());
    return kFailed;
  }
  const bool for_people = options->output.empty() &&
                          options->action == report::Options::Action::kShow &&
                          options->look.format == report::Format::kText;
  const bool is_packing = options->action == report::Options::Action::kPack;
  const std::string output = is_packing ? std::string() : options->output;
  // Where nothing can be written, that is all there is to say.
  const bool goes_to_file = !made->is_written && !output.empty() && output != "-";
  if (goes_to_file && write_out(output, made->text) != kShown) return kFailed;
  for (const std::string& warning : made->warnings) {
    report::say(warning);
  }
  if (made->is_written) return kShown;
  const int status = goes_to_file ? kShown : write_out(output, made->text, for_people);
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
    // Without memory, nothing can be put together.
    std::fputs("fble-prof-report: not enough memory\n", stderr);
  } catch (const std::exception& error) {
    fbleprof::report::say(std::string("fble-prof-report: ") + error.what());
  }
  return kFailed;
}
