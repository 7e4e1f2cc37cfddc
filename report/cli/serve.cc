#include "report/cli/serve.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "report/cli/report.h"
#include "report/text/progress_bar.h"
#include "report/web/serve.h"

namespace fbleprof::report {

namespace {

bool can_be_read_once(const std::string& file) {
  std::error_code failure;
  return file == "-" || std::filesystem::is_fifo(file, failure);
}

}  // namespace

Status serve(const Options& options, const std::string& version) {
  // Pages read what they show when they are asked for.
  for (const auto* files : {&options.files, &options.baselines}) {
    const auto piped = std::find_if(files->begin(), files->end(), can_be_read_once);
    if (piped != files->end()) {
      return Error{*piped, {}, "--serve reads its files again", "name a file"};
    }
  }
  Options what = options;
  what.view = &default_view();
  what.baselines.clear();
  web::ServeOptions how;
  how.where = options.serve;
  how.files = what.files;
  how.are_runs = what.are_runs;
  how.bases = options.baselines;
  how.version = version;
  return web::serve(how, [what](const web::LoadRequest& request) {
    Options one = what;
    one.window = request.window;
    one.base_window = request.base_window;
    one.baselines = request.base;
    one.are_runs = what.are_runs && !one.baselines.empty();
    if (!request.files.empty()) one.files = request.files;
    for (std::size_t i = 0; i < request.since.size() && i < one.files.size(); ++i) {
      one.marks[one.files[i]] = request.since[i];
    }
    // When a page loads files, the browser's user waits, and nobody looks at the terminal.
    ProgressBar quiet(false);
    return load(one, request.needs, quiet);
  });
}

}  // namespace fbleprof::report
