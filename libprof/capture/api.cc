#include "capture/api.h"

#include "capture/process.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "signal_safe/enter.h"
#include "signal_safe/sample.h"
#include "signal_safe/session.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
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

// Depth first over the tree edges. Calls of back and tail edges are counted where they lead, which
// needs a pass of its own: a tree has few of them.
class Walk {
 public:
  Walk(int (*visitor)(const fbleprof_visit*, void*), void* argument)
      : visitor_(visitor), argument_(argument) {}

  int tree(const format::Thread& thread, std::uint32_t number) {
    thread_ = number;
    return node(thread.root, 0);
  }

 private:
  int node(format::Ref ref, std::uint64_t calls) {
    const format::Node* n = node_at(ref);
    const auto& function = *session.arena.at<format::Function>(n->function);
    const Named name = name_of(function);
    fbleprof_visit visit{};
    visit.depth = n->depth;
    visit.thread = thread_;
    visit.name = name.text;
    visit.name_length = name.length;
    visit.address = function.kind == format::FunctionKind::kNative ||
                            function.kind == format::FunctionKind::kInstruction
                        ? reinterpret_cast<const void*>(function.address)
                        : nullptr;
    visit.calls = calls;
    // Back edges come from the subtree of the node they lead to, tail edges from its siblings'.
    sum_edges_to(n->parent ? n->parent : ref, ref, visit);
    visit.samples = n->samples;
    visit.cpu_ns = n->cpu_ns;
    visit.wall_ns = n->wall_ns;
    visit.ticks = n->ticks;
    if (const int result = visitor_(&visit, argument_)) return result;
    for (format::Ref e = __atomic_load_n(&n->first_edge, __ATOMIC_ACQUIRE); e != 0;) {
      const auto* edge = session.arena.at<format::Edge>(e);
      if (edge->kind == format::EdgeKind::kTree) {
        if (const int result = node(edge->to, edge->calls)) return result;
      }
      e = edge->next;
    }
    return 0;
  }

  void sum_edges_to(format::Ref from, format::Ref to, fbleprof_visit& visit) {
    for (format::Ref e = node_at(from)->first_edge; e != 0;) {
      const auto* edge = session.arena.at<format::Edge>(e);
      if (edge->to == to && edge->kind == format::EdgeKind::kBack) visit.back_calls += edge->calls;
      if (edge->to == to && edge->kind == format::EdgeKind::kTail) visit.tail_calls += edge->calls;
      if (edge->kind == format::EdgeKind::kTree) sum_edges_to(edge->to, to, visit);
      e = edge->next;
    }
  }

  int (*visitor_)(const fbleprof_visit*, void*);
  void* argument_;
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

void fbleprof_flush() {
  if (!fbleprof_hot.top || !fbleprof_hot.self->canary->alive) return;
  capture::SamplingBlocked guard;
  signal_safe::charge_rest(*fbleprof_hot.self);
}

int fbleprof_is_enabled() {
  return capture::is_profiling() && session.recording.load() && fbleprof_hot.top ? 1 : 0;
}

int fbleprof_query(int (*visitor)(const fbleprof_visit*, void*), void* argument) {
  if (!session.arena.base() || !visitor) return 0;
  Walk walk(visitor, argument);
  std::uint32_t number = 0;
  for (format::Ref ref = session.arena.header()->first_thread; ref != 0; ++number) {
    const auto* thread = session.arena.at<format::Thread>(ref);
    if (const int result = walk.tree(*thread, number)) return result;
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
