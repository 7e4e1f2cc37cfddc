#include "attach/own_stack.h"

#include <algorithm>

namespace fbleprof::attach {

namespace {

bool contains(const Mapping& mapping, std::uint64_t address) {
  return address >= mapping.begin && address < mapping.end;
}

}  // namespace

const Mapping* stack_started_with(pid_t pid, const Tracee& thread,
                                  const std::vector<Mapping>& mappings) {
  const std::uint64_t pointer = arch::thread_pointer_of(thread.registers());
  const auto found = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& each) {
    return thread.tid() == pid ? each.path == "[stack]" : contains(each, pointer);
  });
  return found == mappings.end() ? nullptr : &*found;
}

const Mapping* own_stack_of(pid_t pid, const Tracee& thread, const std::vector<Mapping>& mappings) {
  const Mapping* stack = stack_started_with(pid, thread, mappings);
  return stack && contains(*stack, arch::sp_of(thread.registers())) ? stack : nullptr;
}

}  // namespace fbleprof::attach
