// The trampolines of one module, and the places in its text that must change to lead to them.
#pragma once

#include "capture/plans.h"
#include "capture/slots.h"
#include "format/format.h"
#include "plan/plan.h"

namespace fbleprof::capture {

// Whether the processor compares return addresses with its own shadow stack.
bool has_shadow_stack();

// One module and the plan for it.
struct Work {
  const format::Module& module;
  const Plan& plan;
  const bool no_pushes = has_shadow_stack();  // of return addresses

  std::uint64_t address(std::uint64_t in_file) const { return module.load_bias + in_file; }
  std::uint8_t* bytes(std::uint64_t in_file) const {
    return reinterpret_cast<std::uint8_t*>(address(in_file));
  }
  bool has_text(std::uint64_t in_file, std::uint64_t count) const {
    const plan::Header& header = plan.header();
    for (std::uint32_t i = 0; i < header.segment_count; ++i) {
      const plan::Range& part = header.segments[i];
      if (in_file >= part.begin && in_file + count <= part.end) return true;
    }
    return false;
  }
};

// Why the module gets no trampolines; null if it can get them. Compares its bytes with those of its
// plan, and reads no other code of the program.
const char* obstacle_to_trampolines(const Work& work);

// Writes the trampolines of a module that can get them. Call it with the lock (switching.h): they
// are switched with recording. The text stays as it is. Returns why that is not possible; null if
// it is done.
const char* write_trampolines(const Work& work, Region** written);

// Whether code is made to lead to the trampoline.
bool is_used(const Work& work, const plan::Trampoline& trampoline);

// A place in the text that must change. It leads to the trampoline then.
struct TextPlace {
  std::uint8_t* at;
  std::uint64_t trampoline;
  std::uint64_t function;  // the one that is counted
  bool is_entry;           // gets a jump; otherwise it is a call or jump, whose distance changes
};

template <typename Function>
void for_each_text_place(const Work& work, const Region& region, Function function) {
  const plan::Header& header = work.plan.header();
  const plan::Trampoline* trampolines = work.plan.trampolines();
  for (std::uint32_t i = 0; i < header.trampolines; ++i) {
    const plan::Trampoline& each = trampolines[i];
    if (each.window == 0 || !is_used(work, each)) continue;
    function(
        TextPlace{work.bytes(each.window), entry_of(region, i), work.address(each.function), true});
  }
  const plan::Site* sites = work.plan.sites();
  for (std::uint32_t i = 0; i < header.sites; ++i) {
    const std::uint32_t trampoline = sites[i].trampoline;
    const plan::Trampoline& to = trampolines[trampoline];
    if (!is_used(work, to)) continue;
    function(TextPlace{work.bytes(sites[i].at), entry_of(region, trampoline),
                       work.address(to.function), false});
  }
}

// Records which functions of a rewritten module are not counted.
void note_refusals(const Work& work);

}  // namespace fbleprof::capture
