// Answers the program's queries about the profile so far.
#include <sys/mman.h>

#include "arch/kernel.h"
#include "capture/profiles.h"
#include "signal_safe/session.h"
#include "signal_safe/shadow_stack.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::session;

namespace {

struct Named {
  const char* text;
  std::size_t length;
};

Named name_of(const format::Function& function) {
  switch (function.kind) {
    case format::FunctionKind::kBlock: {
      if (function.name == 0) return {"", 0};
      const auto* name = session.arena.at<format::String>(function.name);
      return {name->bytes, name->length};
    }
    case format::FunctionKind::kRoot:
      return {"[root]", 6};
    case format::FunctionKind::kOverflow:
      return {"[overflow]", 10};
    case format::FunctionKind::kUnwound:
      return {"[unwound]", 9};
    case format::FunctionKind::kTruncated:
      return {"[truncated]", 11};
    case format::FunctionKind::kDeeper:
      return {"[deeper]", 8};
    default:
      return {nullptr, 0};
  }
}

// Calls visit(ref) for the items of all records of a kind, up to the first item that does not exist
// yet.
template <typename Item, typename Visit>
static void for_each_item(format::Kind kind, Visit visit) {
  session.arena.for_each(kind, [&](format::Ref chunk) {
    const format::Ref end = chunk + session.arena.at<format::Head>(chunk)->units;
    format::Ref ref = chunk + format::kItemsOffset / format::kUnitBytes;
    while (ref < end && visit(ref)) ref += sizeof(Item) / format::kUnitBytes;
    return true;
  });
}

// The data that a query keeps for each node.
struct Place {
  std::uint64_t back_calls, tail_calls;   // on edges to the node, from anywhere in the tree
  format::Ref first_child, next_sibling;  // Nodes; newest first
};

// The places of all nodes that exist now; newer nodes have none and are not visited. Memory comes
// from the kernel, because the program's allocator may itself be profiled.
class Places {
 public:
  Places() : count_(session.arena.used_bytes() / sizeof(format::Node)) {
    const long address =
        kernel_call(SYS_mmap, 0, static_cast<long>(count_ * sizeof(Place)), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (kernel_failed(address)) return;
    places_ = reinterpret_cast<Place*>(address);
    link_children();
    add_calls();
  }
  ~Places() {
    if (places_) {
      kernel_call(SYS_munmap, reinterpret_cast<long>(places_),
                  static_cast<long>(count_ * sizeof(Place)));
    }
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  explicit operator bool() const { return places_ != nullptr; }

  Place* of(format::Ref node) const {
    const std::uint64_t number = node / signal_safe::kUnitsOfNode;
    return number < count_ ? &places_[number] : nullptr;
  }

 private:
  void link_children() {
    for_each_item<format::Node>(format::Kind::kNodes, [this](format::Ref ref) {
      const auto* node = session.arena.at<format::Node>(ref);
      if (__atomic_load_n(&node->function, __ATOMIC_ACQUIRE) == 0) return false;
      Place *place = of(ref), *parent = of(node->parent);
      if (!place) return false;
      if (node->parent == 0) return true;
      place->next_sibling = parent->first_child;
      parent->first_child = ref;
      return true;
    });
  }

  void add_calls() {
    for_each_item<format::Edge>(format::Kind::kEdges, [this](format::Ref ref) {
      const auto* edge = session.arena.at<format::Edge>(ref);
      const format::Ref to = __atomic_load_n(&edge->to, __ATOMIC_ACQUIRE);
      Place* place = of(to);
      if (to == 0 || !place) return false;
      (edge->kind == format::EdgeKind::kTail ? place->tail_calls : place->back_calls) +=
          edge->calls;
      return true;
    });
  }

  std::uint64_t count_;
  Place* places_ = nullptr;
};

Named text_of(format::Ref string) {
  if (string == 0) return {nullptr, 0};
  const auto* text = session.arena.at<format::String>(string);
  return {text->bytes, text->length};
}

void add_values(fbleprof_visit& visit, const format::Node& node) {
  if (node.values == 0) return;
  const auto* values = session.arena.at<std::uint64_t>(node.values);
  visit.samples += values[signal_safe::kSamples];
  visit.cpu_ns += values[signal_safe::kCpuNs];
  visit.wall_ns += values[signal_safe::kWallNs];
  visit.ticks += values[signal_safe::kTicks];
}

void describe_block(fbleprof_visit& visit, const format::Function& function) {
  if (function.kind != format::FunctionKind::kBlock) return;
  const Named file = text_of(function.file);
  visit.block = static_cast<fbleprof_block>(function.address);
  visit.line = function.line;
  visit.column = function.column;
  visit.file = file.text;
  visit.file_length = file.length;
}

// Shows trees depth first, parents before children. It does not recurse: a tree may be deeper than
// the caller's stack.
class Query {
 public:
  Query(int (*visitor)(const fbleprof_visit*, void*), void* argument, const Places& places)
      : visitor_(visitor), argument_(argument), places_(places) {}

  // Stops when the visitor returns nonzero, and returns that.
  int tree(format::Ref root, std::uint32_t number, Named profile) {
    profile_ = profile;
    for (format::Ref ref = root;;) {
      const Place* place = places_.of(ref);
      if (!place) return 0;
      if (const int result = show(ref, *place, number)) return result;
      if (place->first_child != 0) {
        ref = place->first_child;
        continue;
      }
      while (ref != root && places_.of(ref)->next_sibling == 0) ref = node_at(ref).parent;
      if (ref == root) return 0;
      ref = places_.of(ref)->next_sibling;
    }
  }

 private:
  static const format::Node& node_at(format::Ref ref) {
    return *session.arena.at<format::Node>(ref);
  }

  int show(format::Ref ref, const Place& place, std::uint32_t number) {
    const format::Node& node = node_at(ref);
    const auto& function = *session.arena.at<format::Function>(node.function);
    const Named name = name_of(function);
    fbleprof_visit visit{};
    visit.depth = node.depth;
    visit.thread = number;
    visit.name = name.text;
    visit.name_length = name.length;
    visit.address = function.kind == format::FunctionKind::kNative ||
                            function.kind == format::FunctionKind::kInstruction
                        ? reinterpret_cast<const void*>(function.address)
                        : nullptr;
    visit.calls = node.calls;
    visit.back_calls = place.back_calls;
    visit.tail_calls = place.tail_calls;
    add_values(visit, node);
    describe_block(visit, function);
    visit.profile = profile_.text;
    visit.profile_length = profile_.length;
    // Each tree has this node from the start, even if nothing overflows.
    const bool is_empty = (visit.calls | visit.back_calls | visit.tail_calls | visit.samples |
                           visit.cpu_ns | visit.wall_ns | visit.ticks) == 0;
    if (function.kind == format::FunctionKind::kOverflow && is_empty && place.first_child == 0) {
      return 0;
    }
    return visitor_(&visit, argument_);
  }

  int (*visitor_)(const fbleprof_visit*, void*);
  void* argument_;
  const Places& places_;
  Named profile_{nullptr, 0};
};

}  // namespace

int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  if (!session.arena.base() || !visitor) return 0;
  Places places;
  if (!places) return -1;
  Query query(visitor, argument, places);
  std::uint32_t number = 0;
  int result = 0;
  session.arena.for_each(format::Kind::kTree, [&](format::Ref ref) {
    const auto* tree = session.arena.at<format::Tree>(ref);
    result = query.tree(tree->root, number++, text_of(capture::profile_name(tree->labels)));
    return result == 0;
  });
  return result;
}

int fbleprof_query_pair(fbleprof_block caller, fbleprof_block callee, fbleprof_visit* sum) {
  if (!session.arena.base() || !sum) return -1;
  const format::Ref to = session.function_of_block(callee);
  const format::Ref from = caller != 0 ? session.function_of_block(caller) : 0;
  if (to == 0 || (caller != 0 && from == 0)) return -1;
  const auto node_at = [](format::Ref ref) -> const format::Node& {
    return *session.arena.at<format::Node>(ref);
  };
  const auto is_caller = [&](format::Ref node) {
    return from == 0 || (node != 0 && node_at(node).function == from);
  };
  const auto& function = *session.arena.at<format::Function>(to);
  const Named name = name_of(function);
  fbleprof_visit found{};
  found.name = name.text;
  found.name_length = name.length;
  describe_block(found, function);
  for_each_item<format::Node>(format::Kind::kNodes, [&](format::Ref ref) {
    const format::Node& node = node_at(ref);
    const format::Ref of = __atomic_load_n(&node.function, __ATOMIC_ACQUIRE);
    if (of == 0) return false;
    if (of != to || !is_caller(node.parent)) return true;
    found.calls += node.calls;
    add_values(found, node);
    return true;
  });
  for_each_item<format::Edge>(format::Kind::kEdges, [&](format::Ref ref) {
    const auto& edge = *session.arena.at<format::Edge>(ref);
    if (__atomic_load_n(&edge.to, __ATOMIC_ACQUIRE) == 0) return false;
    if (edge.function != to || !is_caller(edge.from)) return true;
    (edge.kind == format::EdgeKind::kTail ? found.tail_calls : found.back_calls) += edge.calls;
    return true;
  });
  *sum = found;
  return 0;
}
