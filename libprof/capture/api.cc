#include "capture/api.h"

#include <sys/mman.h>

#include "capture/profile.h"
#include "capture/threads.h"
#include "signal_safe/arch/x86_64/kernel.h"
#include "signal_safe/enter.h"
#include "signal_safe/session.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using signal_safe::kernel_call;
using signal_safe::kernel_failed;
using signal_safe::session;

namespace {

const format::Node* node_at(format::Ref ref) { return session.arena.at<format::Node>(ref); }

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
    default:
      return {nullptr, 0};
  }
}

// What a query keeps of each node, by its number in the tree.
struct Place {
  std::uint64_t back_calls, tail_calls;  // on edges to the node, from wherever in the tree
  format::Ref entered_by;                // the tree edge that leads to it
};

// Memory for the places of the largest tree, zeroed; from the kernel, since the program's allocator
// may itself be profiled. Nodes that are newer than it have no place and are not visited.
class Places {
 public:
  Places() : count_(session.arena.header()->node_count + 2) {
    const long address =
        kernel_call(SYS_mmap, 0, static_cast<long>(count_ * sizeof(Place)), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!kernel_failed(address)) places_ = reinterpret_cast<Place*>(address);
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

  Place* of(format::Ref node) {
    const std::uint32_t number = node_at(node)->number;
    if (number >= count_) return nullptr;
    if (number > newest_) newest_ = number;
    return &places_[number];
  }
  // For the next tree.
  void clear() {
    for (std::uint32_t i = 0; i <= newest_; ++i) places_[i] = {};
    newest_ = 0;
  }

 private:
  std::uint64_t count_;
  Place* places_ = nullptr;
  std::uint32_t newest_ = 0;
};

// Shows a tree in two passes over its edges: one counts the calls of back and tail edges where they
// lead, the other shows the nodes. Neither recurses: a tree may be deeper than the caller's stack.
class Query {
 public:
  Query(int (*visitor)(const fbleprof_visit*, void*), void* argument, Places& places)
      : visitor_(visitor), argument_(argument), places_(places) {}

  int tree(format::Ref root, std::uint32_t number) {
    thread_ = number;
    places_.clear();
    walk(root, [this](format::Ref node) {
      for_each_edge(node, [this](const format::Edge& edge) {
        Place* place = places_.of(edge.to);
        if (place && edge.kind == format::EdgeKind::kBack) place->back_calls += edge.calls;
        if (place && edge.kind == format::EdgeKind::kTail) place->tail_calls += edge.calls;
      });
      return 0;
    });
    return walk(root, [this](format::Ref node) { return show(node); });
  }

 private:
  static format::Ref first_edge(format::Ref node) {
    return __atomic_load_n(&node_at(node)->first_edge, __ATOMIC_ACQUIRE);
  }
  static const format::Edge* edge_at(format::Ref ref) {
    return session.arena.at<format::Edge>(ref);
  }

  template <typename Function>
  static void for_each_edge(format::Ref node, Function function) {
    for (format::Ref e = first_edge(node); e != 0; e = edge_at(e)->next) function(*edge_at(e));
  }

  // Depth first along the tree edges, parents before children, until `at_node` returns nonzero.
  template <typename AtNode>
  int walk(format::Ref root, AtNode at_node) {
    format::Ref node = root;
    if (const int result = at_node(node)) return result;
    for (format::Ref e = first_edge(node);;) {
      if (e == 0) {  // the node is done: back to where its parent was left
        if (node == root) return 0;
        const format::Edge* entered_by = edge_at(places_.of(node)->entered_by);
        node = entered_by->from;
        e = entered_by->next;
        continue;
      }
      const format::Edge* edge = edge_at(e);
      Place* place = edge->kind == format::EdgeKind::kTree ? places_.of(edge->to) : nullptr;
      if (!place) {
        e = edge->next;
        continue;
      }
      place->entered_by = e;
      node = edge->to;
      if (const int result = at_node(node)) return result;
      e = first_edge(node);
    }
  }

  int show(format::Ref ref) {
    const format::Node* n = node_at(ref);
    const auto& function = *session.arena.at<format::Function>(n->function);
    const Named name = name_of(function);
    const Place* place = places_.of(ref);
    fbleprof_visit visit{};
    visit.depth = n->depth;
    visit.thread = thread_;
    visit.name = name.text;
    visit.name_length = name.length;
    visit.address = function.kind == format::FunctionKind::kNative ||
                            function.kind == format::FunctionKind::kInstruction
                        ? reinterpret_cast<const void*>(function.address)
                        : nullptr;
    if (place) {
      visit.calls = place->entered_by ? edge_at(place->entered_by)->calls : 0;
      visit.back_calls = place->back_calls;
      visit.tail_calls = place->tail_calls;
    }
    visit.samples = n->samples;
    visit.cpu_ns = n->cpu_ns;
    visit.wall_ns = n->wall_ns;
    visit.ticks = n->ticks;
    // Each tree has the node from its beginning, whether or not anything will overflow.
    const bool is_empty = (visit.calls | visit.back_calls | visit.tail_calls | visit.samples |
                           visit.cpu_ns | visit.wall_ns | visit.ticks) == 0;
    if (function.kind == format::FunctionKind::kOverflow && is_empty && first_edge(ref) == 0) {
      return 0;
    }
    return visitor_(&visit, argument_);
  }

  int (*visitor_)(const fbleprof_visit*, void*);
  void* argument_;
  Places& places_;
  std::uint32_t thread_ = 0;
};

}  // namespace

fbleprof_block fbleprof_block_new(const char* name, const char* file, int line) {
  if (!session.arena.base() || !name) return 0;
  const std::uint32_t number = session.block_count.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number >= signal_safe::Session::kMaxBlocks) return 0;
  const format::Ref ref = session.code_map.function_with_key(number, format::FunctionKind::kBlock);
  if (ref == 0) return 0;
  auto* block = session.arena.at<format::Function>(ref);
  auto text = [](const char* s) -> format::Ref {
    std::uint32_t length = 0;
    while (s && s[length] && length < 65535) ++length;
    return length ? session.arena.add_string(s, length) : 0;
  };
  block->name = text(name);
  block->file = text(file);
  block->size = line > 0 ? static_cast<std::uint32_t>(line) : 0;
  __atomic_store_n(&session.blocks[number], ref, __ATOMIC_RELEASE);
  return number;
}

// The frame of an API function: its return-address slot less the bias, as hooks.S forms it.
#define FBLEPROF_OWN_FRAME (reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()) - 8 - FRAME_BIAS)

void fbleprof_replace(fbleprof_block block) {
  if (block != 0) signal_safe::replace_top(FBLEPROF_OWN_FRAME, block);
}

void fbleprof_tick(uint64_t count) { signal_safe::tick(FBLEPROF_OWN_FRAME, count); }

void fbleprof_start() {
  if (!capture::is_profiling() || session.recording.load()) return;
  capture::start_all_threads();
}

void fbleprof_stop() {
  if (!capture::is_profiling() || !session.recording.load()) return;
  fbleprof_flush();
  capture::stop_all_threads();
}

void fbleprof_flush() { capture::charge_rest_of_this_thread(); }

int fbleprof_is_enabled() {
  return capture::is_profiling() && session.recording.load() && fbleprof_hot.top ? 1 : 0;
}

int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  if (!session.arena.base() || !visitor) return 0;
  Places places;
  if (!places) return -1;
  Query query(visitor, argument, places);
  std::uint32_t number = 0;
  for (format::Ref ref = session.arena.header()->first_thread; ref != 0; ++number) {
    const auto* thread = session.arena.at<format::Thread>(ref);
    if (const int result = query.tree(thread->root, number)) return result;
    ref = thread->next;
  }
  return 0;
}

FBLEPROF_EXPORT const struct fbleprof_api fbleprof_api_table = {
    FBLEPROF_API_VERSION,    sizeof(struct fbleprof_api),
    fbleprof_block_new,      fbleprof_enter,
    fbleprof_leave,          fbleprof_replace,
    fbleprof_tick,           fbleprof_start,
    fbleprof_stop,           fbleprof_flush,
    fbleprof_is_enabled,     fbleprof_context_new,
    fbleprof_context_switch, fbleprof_context_free,
    fbleprof_query,
};
