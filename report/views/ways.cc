#include "report/views/ways.h"

#include <algorithm>

#include "analysis/compact_path.h"
#include "report/views/path_text.h"

namespace fbleprof::report {

using namespace profile;

std::vector<Cell> path_cells(const Request& request, const Names& names,
                             const std::vector<NodeId>& contexts) {
  const Look& look = request.look;
  std::size_t shown = look.top != 0 ? look.top : kPathsForPeople;
  if (look.all) shown = contexts.size();
  shown = std::min(shown, contexts.size());
  std::vector<Path> paths;
  for (std::size_t i = 0; i < shown; ++i) {
    paths.push_back(analysis::path_to(request.profile(), contexts[i]));
  }
  std::vector<std::string> texts(shown);
  if (look.format == Format::kText) {
    std::vector<FunctionId> functions;
    for (const Path& path : paths) functions.insert(functions.end(), path.begin(), path.end());
    texts = path_texts(names.marked_too(std::move(functions)), paths,
                       look.width > 60 ? look.width - 46 : look.width);
  }
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < shown; ++i) {
    cells.push_back(name_cell({{texts[i], {}}}, raw_path(names, paths[i])));
  }
  return cells;
}

}  // namespace fbleprof::report
