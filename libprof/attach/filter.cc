#include "attach/filter.h"

#include "attach/loaded_file.h"
#include "attach/orders.h"

namespace fbleprof::attach {

using format::OrderStep;
using format::RecorderOrder;

namespace {

// Patterns name modules by their paths, as the process sees them; so these paths are the best ones
// if they lead to the same files here.
std::vector<std::string> files_of(pid_t pid, const RecorderOrder& order) {
  const std::vector<Mapping> mappings = mappings_of(pid);
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const Mapping* mapping = mapping_from(mappings, order.modules[i].begin);
    if (!mapping || sees_file(pid, mapping->path)) {
      files.emplace_back(mapping ? mapping->path : order.modules[i].path);
    } else {
      files.push_back(mapped_file_from_outside(pid, *mapping));
    }
  }
  return files;
}

// One round for as many modules as an order holds.
Result<bool> give_tables(pid_t pid, const std::string& library, const MakeTables& make_tables,
                         RecorderOrder& order) {
  const std::vector<std::string> tables = make_tables(files_of(pid, order));
  const auto thread = BorrowedThread::take(pid);
  if (!thread) return thread.error();
  for (std::uint32_t i = 0; i < order.count; ++i) hand_over(**thread, tables[i], order.modules[i]);
  order.step = OrderStep::kFilter;
  return obey(pid, library, **thread, order);
}

}  // namespace

Status leave_functions_out(pid_t pid, const std::string& library, const std::string& filter,
                           const MakeTables& make_tables) {
  return insist_in_rounds(
      pid, OrderStep::kNameUnfiltered, [&](RecorderOrder& order) -> Result<bool> {
        const auto done = obey_in_any_thread(pid, library, order);
        if (!done || !*done) return done;
        if (order.filter != filter) {
          return error_of(pid,
                          "it keeps the --only and --not of its first attach, which were others",
                          "restart the program");
        }
        return order.count == 0 ? done : give_tables(pid, library, make_tables, order);
      });
}

}  // namespace fbleprof::attach
