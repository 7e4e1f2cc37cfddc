// Fuzz targets of --exact's analysis of files of code, and of what the recorder asks of the files
// that tell it what to do with code: plans, and tables of functions that are left out. The rest of
// the recorder is not built with clang, nor with sanitizers.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "plan/left_out_table.h"
#include "plan/plan.h"
#include "rewrite/analysis.h"
#include "rewrite/elf_image.h"
#include "signal_safe/left_out.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/input.h"

namespace fbleprof::fuzz {

namespace {

// The parts of a whole plan, copied.
struct Parts {
  plan::Header header;
  std::vector<plan::Trampoline> trampolines;
  std::vector<plan::Site> sites;
  std::vector<plan::Refusal> refusals;

  explicit Parts(std::string_view bytes) {
    demand(plan::is_whole(bytes.data(), bytes.size()));
    const char* at = bytes.data();
    const auto take = [&at](void* to, std::size_t count) {
      if (count != 0) std::memcpy(to, at, count);
      at += count;
    };
    const auto take_all = [&take](auto& items, std::size_t count) {
      items.resize(count);
      take(items.data(), count * sizeof items[0]);
    };
    take(&header, sizeof header);
    take_all(trampolines, header.trampolines);
    take_all(sites, header.sites);
    take_all(refusals, header.refusals);
    demand(at == bytes.data() + bytes.size());
  }

  bool has_text(std::uint64_t address, std::uint64_t count) const {
    return std::any_of(header.segments, header.segments + header.segment_count,
                       [&](const plan::Range& part) {
                         return address >= part.begin && address + count <= part.end;
                       });
  }
};

void check(const plan::Trampoline& trampoline, const Parts& parts, const rewrite::ElfImage& image) {
  demand(parts.has_text(trampoline.function, 1));
  demand(trampoline.jumps_from == 0 || parts.has_text(trampoline.jumps_from, 1));
  demand(trampoline.code_bytes <= plan::kMostCode);
  demand(trampoline.fixup_count <= plan::kMostFixups);
  for (int i = 0; i < trampoline.fixup_count; ++i) {
    const plan::Fixup& fixup = trampoline.fixups[i];
    demand(fixup.at + sizeof(std::int32_t) + fixup.trailing <= trampoline.code_bytes);
    if (fixup.kind != plan::FixupKind::kTrampoline && fixup.kind != plan::FixupKind::kBehindHook) {
      continue;
    }
    demand(fixup.target < parts.trampolines.size());
  }
  if (trampoline.window == 0) return;
  demand(parts.has_text(trampoline.window, sizeof trampoline.expected));
  demand(std::memcmp(image.at(trampoline.window, sizeof trampoline.expected), trampoline.expected,
                     sizeof trampoline.expected) == 0);
}

void check(const plan::Site& site, const Parts& parts, const rewrite::ElfImage& image) {
  demand(parts.has_text(site.at, plan::kJumpBytes));
  demand(site.trampoline < parts.trampolines.size());
  const std::uint8_t* code = image.at(site.at, plan::kJumpBytes);
  demand(code[0] == 0xe8 || code[0] == 0xe9);
  std::int32_t distance;
  std::memcpy(&distance, code + 1, sizeof distance);
  demand(site.at + plan::kJumpBytes + static_cast<std::int64_t>(distance) ==
         parts.trampolines[site.trampoline].function);
}

// No byte of code is changed twice, unless to the same.
void check_changes(const Parts& parts) {
  struct Change {
    plan::Address at;
    std::uint32_t trampoline;
  };
  std::vector<Change> changes;
  for (std::uint32_t i = 0; i < parts.trampolines.size(); ++i) {
    if (parts.trampolines[i].window != 0) changes.push_back({parts.trampolines[i].window, i});
  }
  for (const plan::Site& site : parts.sites) changes.push_back({site.at, site.trampoline});
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });
  for (std::size_t i = 1; i < changes.size(); ++i) {
    const Change &one = changes[i - 1], &next = changes[i];
    demand(next.at - one.at >= plan::kJumpBytes ||
           (next.at == one.at && next.trampoline == one.trampoline));
  }
}

}  // namespace

void exact(std::span<const std::uint8_t> bytes) {
  const MemoryFile file(bytes);
  const rewrite::Analysis analysis = rewrite::analyse(file.path());
  const Parts parts(analysis.plan);
  if (!analysis.error.empty()) {
    demand(parts.header.trampolines == 0 && parts.header.sites == 0 && parts.header.error[0] != 0);
    return;
  }
  rewrite::ElfImage image;
  demand(image.open(file.path()).empty());
  for (const plan::Trampoline& trampoline : parts.trampolines) check(trampoline, parts, image);
  for (const plan::Site& site : parts.sites) check(site, parts, image);
  for (const plan::Refusal& refusal : parts.refusals) {
    demand(image.in_text(refusal.function) && refusal.size <= image.text_end() - refusal.function);
    demand(refusal.reason != plan::Reason::kNone && *plan::explain(refusal.reason) != 0);
  }
  check_changes(parts);
}

void plan(std::span<const std::uint8_t> bytes) {
  if (!plan::is_whole(bytes.data(), bytes.size())) return;
  const Parts parts(text_of(bytes));
  demand(std::strlen(parts.header.error) < sizeof parts.header.error);
  for (const plan::Refusal& refusal : parts.refusals) demand(plan::explain(refusal.reason));
}

void left_out_table(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;  // as the recorder does
  // It maps tables, so they begin at an address that is aligned.
  const std::vector<std::uint8_t> mapped(bytes.begin(), bytes.end());
  const auto& header = *reinterpret_cast<const plan::LeftOutHeader*>(mapped.data());
  if (!plan::is_whole(header, mapped.size())) return;
  const char* const paths = plan::paths_of(header);
  const char* at = paths;
  while (at < paths + header.paths_bytes) at += std::strlen(at) + 1;
  demand(at == paths + header.paths_bytes);
  constexpr std::uint64_t kBegin = 0x7f0000001000, kEnd = kBegin + 0x10000;
  const auto left_out = std::make_unique<signal_safe::LeftOut>();
  demand(left_out->add({kBegin, kEnd, kBegin,
                        reinterpret_cast<const signal_safe::LeftOut::Boundary*>(&header + 1),
                        header.count, header.first_is_out != 0}));
  demand(!left_out->contains(kBegin - 1) && !left_out->contains(kEnd));
  for (std::uint64_t address = kBegin; address < kEnd; address += 0x40) left_out->contains(address);
}

}  // namespace fbleprof::fuzz
