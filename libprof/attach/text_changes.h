// The changes of a program's text that count its calls, as the recorder in it lists them
// (format/exact_order.h). All its threads must be stopped while they are made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/stopped_process.h"
#include "base/result.h"
#include "format/exact_order.h"

namespace fbleprof::attach {

// One module's changes.
struct ModuleChanges {
  std::uint64_t address = 0;  // of the list in the process
  format::TextChanges head{};
  std::vector<format::TextChange> changes;
};

// Keeps the recorder from changing the text of new libraries and its lists, until
// let_changes_go_on(). Fails if a thread does that for seconds.
Status hold_changes(pid_t pid, const std::string& library);
// The text is changed, and new libraries are to be counted, too.
bool let_changes_go_on(pid_t pid, const std::string& library);

// The recorder's lists; empty if there are none. Hold the changes before.
std::vector<ModuleChanges> read_changes(pid_t pid, const std::string& library);

enum class Text { kOriginal, kChanged };

// Gives the text these bytes, where it has the others and the change is not kept out. Returns at
// how many places. If it fails, the text is as it was.
Result<std::size_t> write_text(pid_t pid, const ModuleChanges& module, Text wanted);

// Whether some of the text is changed.
bool is_changed(pid_t pid, const ModuleChanges& module);

// Keeps out the entries where a thread stands, or to which a signal handler will return: their
// first bytes must stay. Lets such threads continue for a moment first, again and again. Returns
// how many entries are kept out.
Result<std::size_t> keep_occupied_out(pid_t pid, StoppedProcess& process,
                                      std::vector<ModuleChanges>& modules);

}  // namespace fbleprof::attach
