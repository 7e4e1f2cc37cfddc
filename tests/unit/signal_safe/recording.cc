#include "tests/unit/signal_safe/recording.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "signal_safe/enter.h"

namespace fbleprof::test {

using format::Kind;
using format::Ref;
using signal_safe::CodeRange;
using signal_safe::Entry;
using signal_safe::LoadedObject;

namespace {

constexpr std::size_t kShadowEntries = 1 << 16;
// At a page: slots are paired by their addresses.
constexpr std::size_t kCacheBytes = signal_safe::kMostCacheSlots * sizeof(signal_safe::Slot);
std::uint64_t fake_begin = 0, fake_lookups = 0;

bool is_fake(std::uint64_t address) {
  return address >= fake_begin && address < fake_begin + FakeCode::kFunctions * FakeCode::kBytes;
}

char* map(std::uint64_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

}  // namespace

FakeCode::FakeCode() : begin_(reinterpret_cast<std::uint64_t>(map(kFunctions * kBytes))) {
  fake_begin = begin_;
  fake_lookups = 0;
}

FakeCode::~FakeCode() { munmap(reinterpret_cast<void*>(begin_), kFunctions * kBytes); }

void FakeCode::write_call(std::uint64_t site, std::uint32_t function) {
  auto* call = reinterpret_cast<std::uint8_t*>(site - 5);
  const auto distance = static_cast<std::int32_t>(start_of(function) - site);
  call[0] = 0xe8;
  std::memcpy(call + 1, &distance, sizeof distance);
}

void FakeCode::write_build_id(const std::string& id) {
  auto* elf = reinterpret_cast<Elf64_Ehdr*>(begin_);
  std::memcpy(elf->e_ident, ELFMAG, SELFMAG);
  elf->e_phoff = sizeof *elf;
  elf->e_phentsize = sizeof(Elf64_Phdr);
  elf->e_phnum = 2;
  auto* headers = reinterpret_cast<Elf64_Phdr*>(elf + 1);
  constexpr std::uint64_t kNote = 512;
  headers[0] = {PT_LOAD, PF_R, 0, 0, 0, kFunctions * kBytes, kFunctions * kBytes, 4096};
  headers[1] = {PT_NOTE, PF_R, kNote, kNote, kNote, 0, 64, 4};
  auto* note = reinterpret_cast<Elf64_Nhdr*>(begin_ + kNote);
  *note = {4, static_cast<Elf64_Word>(id.size()), NT_GNU_BUILD_ID};
  std::memcpy(note + 1, "GNU", 4);
  std::memcpy(reinterpret_cast<char*>(note + 1) + 4, id.data(), id.size());
}

signal_safe::CodeSource FakeCode::source() {
  return {[](std::uint64_t address) -> CodeRange {
            ++fake_lookups;
            if (!is_fake(address)) return {address / 4096 * 4096, 0, false};
            return {fake_begin + (address - fake_begin) / kBytes * kBytes, kBytes, true};
          },
          [](std::uint64_t address, LoadedObject* object) {
            if (!is_fake(address)) return false;
            object->begin = fake_begin;
            object->end = fake_begin + kFunctions * kBytes;
            object->load_bias = fake_begin;
            object->path = "fake";
            return true;
          }};
}

std::uint64_t FakeCode::lookups() { return fake_lookups; }

Recording::Recording(const signal_safe::Options& options, std::uint64_t cap_bytes)
    : file_(map(cap_bytes)),
      cap_bytes_(cap_bytes),
      cache_(reinterpret_cast<signal_safe::Slot*>(map(kCacheBytes))),
      shadow_(new Entry[kShadowEntries]()) {
  reinterpret_cast<format::Header*>(file_)->used_bytes = format::kHeaderBytes;
  // All of it may be touched: no disk can be full.
  EXPECT_TRUE(session.start(file_, cap_bytes, cap_bytes, options, FakeCode::source()));
  session.recording.store(true);
  thread.session = &session;
  thread.canary = &canary_;
  thread.cache.slots = cache_;
  thread.record = &record_;
  EXPECT_TRUE(thread.tree.start(session.trees, 0, 0, first_links_));
  shadow_[0] = {signal_safe::kNoFrame, signal_safe::kRootGateWord};
  thread.main_stack = {.low = 0,
                       .high = ~std::uint64_t{0},
                       .gate = shadow_.get(),
                       .limit = shadow_.get() + kShadowEntries - 64,
                       .saved_top = shadow_.get(),
                       .base = thread.tree.root()};
  thread.current = &thread.main_stack;
  thread.hot = &fbleprof_hot;
}

Recording::~Recording() {
  if (fbleprof_hot.self == &thread) fbleprof_hot = {};
  munmap(file_, cap_bytes_);
  munmap(cache_, kCacheBytes);
}

void Recording::attach() {
  fbleprof_hot = {thread.main_stack.gate, thread.cache.slots, &thread, thread.main_stack.limit,
                  thread.cache.mask};
}

Ref Recording::function(std::uint32_t number) {
  return session.code_map.hooked_function_at(code.hook_of(number));
}

std::uint32_t Recording::number_of(Ref ref) const {
  const auto* function = session.arena.at<format::Function>(ref);
  EXPECT_EQ(function->head.kind, Kind::kFunction);
  switch (function->kind) {
    case format::FunctionKind::kNative:
      return static_cast<std::uint32_t>((function->address - code.begin()) / FakeCode::kBytes);
    case format::FunctionKind::kBlock:
      return static_cast<std::uint32_t>(function->address);
    default:
      return kSpecial + static_cast<std::uint32_t>(function->kind);
  }
}

std::vector<ReadNode> Recording::nodes() const {
  std::vector<ReadNode> nodes;
  std::map<Ref, std::size_t> seen;
  const auto& arena = session.arena;
  arena.for_each(Kind::kNodes, [&](Ref chunk) {
    const auto* record = arena.at<format::Nodes>(chunk);
    EXPECT_EQ(record->item_bytes, sizeof(format::Node));
    const Ref end = chunk + record->head.units;
    for (Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end;
         ref += sizeof(format::Node) / format::kUnitBytes) {
      const auto* node = arena.at<format::Node>(ref);
      if (node->function == 0) break;
      EXPECT_TRUE(node->parent == 0 || seen.contains(node->parent)) << "a child before its parent";
      seen.emplace(ref, nodes.size());
      nodes.push_back({ref, node->parent, number_of(node->function), node->calls, node->flags});
    }
    return true;
  });
  return nodes;
}

std::vector<ReadEdge> Recording::edges() const {
  std::vector<ReadEdge> edges;
  const auto& arena = session.arena;
  arena.for_each(Kind::kEdges, [&](Ref chunk) {
    const Ref end = chunk + arena.at<format::Edges>(chunk)->head.units;
    for (Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end; ++ref) {
      const auto* edge = arena.at<format::Edge>(ref);
      if (edge->to == 0) break;
      edges.push_back({edge->from, edge->to, edge->calls, edge->kind});
    }
    return true;
  });
  return edges;
}

std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> Recording::pairs() const {
  std::map<Ref, ReadNode> by_ref;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> pairs;
  for (const ReadNode& node : nodes()) {
    by_ref.emplace(node.ref, node);
    if (node.calls != 0) pairs[{by_ref.at(node.parent).function, node.function}] += node.calls;
  }
  for (const ReadEdge& edge : edges()) {
    const ReadNode& to = by_ref.at(edge.to);
    if (edge.kind == format::EdgeKind::kBack &&
        session.options.compaction == format::Compaction::kPair) {
      EXPECT_EQ(by_ref.at(to.parent).function, by_ref.at(edge.from).function)
          << "a back edge leads to a node whose parent is of another function";
    }
    pairs[{by_ref.at(edge.from).function, to.function}] += edge.calls;
  }
  return pairs;
}

std::map<std::string, std::uint64_t> Recording::ways() const {
  std::map<Ref, std::string> paths{{0, ""}};
  std::map<std::string, std::uint64_t> ways;
  for (const ReadNode& node : nodes()) {
    const std::string& above = paths.at(node.parent);
    paths[node.ref] = above + "/" + std::to_string(node.function);
    if (node.calls != 0) ways[above + " > " + paths[node.ref]] += node.calls;
  }
  for (const ReadEdge& edge : edges())
    ways[paths.at(edge.from) + " > " + paths.at(edge.to)] += edge.calls;
  return ways;
}

void CallsOnStack::call(std::uint32_t caller, std::uint32_t callee, std::uint64_t depth) {
  const signal_safe::HookState at{recording.code.hook_of(callee), frame_at(depth) + 8, 0};
  signal_safe::fbleprof_enter_slow(fbleprof_hot.top, frame_at(depth),
                                   recording.code.site_in(caller), recording.code.hook_of(callee),
                                   HOOK_NATIVE, &at);
}

}  // namespace fbleprof::test
