#include "report/cli/serve.h"

#include <unistd.h>

#include "report/cli/report.h"
#include "report/text/progress_bar.h"
#include "report/web/serve.h"

namespace fbleprof::report {

Status serve(const Options& options, const std::string& version) {
  Options what = options;
  what.view = &default_view();
  what.baselines.clear();
  web::ServeOptions how;
  how.where = options.serve;
  how.files = what.files;
  how.bases = options.baselines;
  how.version = version;
  return web::serve(how, [what](const web::LoadRequest& request) {
    Options one = what;
    one.window = request.window;
    one.base_window = request.base_window;
    one.baselines = request.base;
    for (std::size_t i = 0; i < request.since.size() && i < one.files.size(); ++i) {
      one.marks[one.files[i]] = request.since[i];
    }
    if (!request.files.empty()) one.files = request.files;
    // When a page loads files, the browser's user waits, and nobody looks at the terminal.
    ProgressBar quiet(false);
    return load(one, request.needs, quiet);
  });
}

}  // namespace fbleprof::report
