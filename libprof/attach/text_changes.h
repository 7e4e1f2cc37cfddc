// The changes of a program's text that count its calls, as the recorder in it lists them
// (format/text_changes.h). All its threads must be stopped while they are made.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attach/stopped_process.h"
#include "base/result.h"
#include "format/text_changes.h"

namespace fbleprof::attach {

// One module's changes.
struct ModuleChanges {
  std::uint64_t address = 0;  // of the list in the process
  format::TextChanges head{};
  std::vector<format::TextChange> changes;
};

// While it lives, the recorder changes neither the text of new libraries nor its lists. Afterwards
// it does if it did before, or as set_counting said.
class HeldChanges {
 public:
  // Fails if a thread of the program changes its text for seconds.
  static Result<HeldChanges> hold(pid_t pid, const std::string& library);
  HeldChanges(HeldChanges&& from) noexcept;
  ~HeldChanges();
  HeldChanges(const HeldChanges&) = delete;
  HeldChanges& operator=(const HeldChanges&) = delete;

  // Whether new libraries are to be counted afterwards, because the text is changed.
  void set_counting(bool is_counting) { is_counting_ = is_counting; }

 private:
  HeldChanges(pid_t pid, std::uint64_t state, bool is_counting)
      : pid_(pid), state_(state), is_counting_(is_counting) {}

  pid_t pid_;
  std::uint64_t state_;  // the place of the recorder's; 0: there is none
  bool is_counting_;
};

// The recorder's lists; empty if there are none. Hold the changes before.
std::vector<ModuleChanges> read_changes(pid_t pid, const std::string& library);

enum class Text { kOriginal, kChanged };

// Gives the text these bytes, where it has the others and the change is not kept out. Returns at
// how many places. If it fails, the text is as it was.
Result<std::size_t> write_text(pid_t pid, const ModuleChanges& module, Text wanted);

// The changes that are made now.
ModuleChanges made_changes(pid_t pid, const ModuleChanges& module);

// Keeps out the entries where a thread stands, or to which a signal handler will return: their
// first bytes must stay. Lets such threads continue for a moment first, again and again. Returns
// how many entries are kept out.
Result<std::size_t> keep_occupied_out(pid_t pid, StoppedProcess& process,
                                      std::vector<ModuleChanges>& modules);

}  // namespace fbleprof::attach
