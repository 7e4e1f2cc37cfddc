#include "attach/own_stack.h"

#include <algorithm>

namespace fbleprof::attach {

const Mapping* stack_started_with(pid_t pid, const Tracee& thread,
                                  const std::vector<Mapping>& mappings) {
  if (thread.tid() != pid) {
    return mapping_at(mappings, arch::thread_pointer_of(thread.registers()));
  }
  const auto found = std::find_if(mappings.begin(), mappings.end(),
                                  [](const Mapping& each) { return each.path == "[stack]"; });
  return found == mappings.end() ? nullptr : &*found;
}

const Mapping* own_stack_of(pid_t pid, const Tracee& thread, const std::vector<Mapping>& mappings) {
  const Mapping* stack = stack_started_with(pid, thread, mappings);
  return stack == mapping_at(mappings, arch::sp_of(thread.registers())) ? stack : nullptr;
}

}  // namespace fbleprof::attach
