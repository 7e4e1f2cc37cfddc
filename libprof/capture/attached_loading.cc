#include "capture/attached_loading.h"

#include <link.h>

#include "arch/kernel.h"
#include "capture/exact.h"
#include "capture/filters.h"
#include "capture/loading.h"
#include "capture/modules.h"
#include "capture/namespaces.h"
#include "capture/profile.h"
#include "capture/switching.h"
#include "capture/text_changes.h"
#include "capture/text_memory.h"

namespace fbleprof::capture {

using arch::kernel_call;

namespace {

// Whether each module is settled that was loaded before the call of dlopen that is under way. Then
// no thread has run in those that are not. Whoever has the turn may change it.
bool are_others_settled = false;
bool are_new_counted = false;
bool is_adding = false;  // the loader said RT_ADD, and not RT_DELETE

// While it lives, fble-prof neither reads the lists nor changes text, unless it has taken
// is_counting back before.
class Changing {
 public:
  Changing() { __atomic_store_n(&text_state.is_changing, 1, __ATOMIC_SEQ_CST); }
  ~Changing() { __atomic_store_n(&text_state.is_changing, 0, __ATOMIC_SEQ_CST); }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;
  explicit operator bool() const {
    return __atomic_load_n(&text_state.is_counting, __ATOMIC_SEQ_CST) != 0;
  }
};

const char* rewrite_new(const Work& work) {
  const Changing changing;
  return changing ? rewrite_module(work, list_changes) : "it was loaded while counting ended";
}

// Waits a little for an order to end. If it does not, this library is only sampled.
bool take_own_turn() {
  constexpr int kTries = 1000;
  const auto own = static_cast<std::uint32_t>(kernel_call(SYS_getpid));
  for (int i = 0; i < kTries; ++i) {
    if (take_turn(own)) return true;
    kernel_call(SYS_sched_yield);
  }
  return false;
}

// The loader has mapped libraries, and has neither relocated them nor run their constructors. A
// module that a sample has registered runs already.
void prepare_mapped_modules() {
  release_regions_of_former_modules();
  settle_new_modules();
  add_mapped_modules();
  release_regions_of_former_modules();
  filter_new_modules();
  if (are_others_settled && are_new_counted) {
    const CodeLock lock;
    rewrite_new_modules(rewrite_new);
  }
  settle_new_modules();
  are_others_settled = true;
}

void forget_unmapped_modules() {
  note_unloading(Unloaded::kAll);
  drop_lists_of_unloaded();
}

void modules_changed() {
  if (!is_profiling() || !is_own_process() || profile.confined) return;
  if (_r_debug.r_state != r_debug::RT_CONSISTENT) {
    is_adding = _r_debug.r_state == r_debug::RT_ADD;
  } else if (!take_own_turn()) {
    are_others_settled = false;
  } else {
    if (are_new_counted) remark_other_namespaces();
    is_adding ? prepare_mapped_modules() : forget_unmapped_modules();
    end_turn();
  }
}

}  // namespace

bool watch_loading(bool is_counting_wanted) {
  static Watch watch = {};
  static bool is_tried = false;
  are_others_settled = is_adding = false;
  are_new_counted = is_counting_wanted;
  const bool is_wanted = is_counting_wanted || has_filter_tool();
  if (is_wanted && !is_tried) {
    const LoaderWatch loader = prepare_loader_watch(modules_changed);
    if (!loader.obstacle) add_place(watch, loader.place, loader.trampoline, true);
    is_tried = true;
  }
  const bool is_watched = is_wanted && watch.head.count != 0;
  choose(watch, is_watched);
  if (!profile.settings.filter.empty() && !(is_watched && has_filter_tool())) {
    static bool is_told = false;
    if (!is_told) remark("libraries loaded later are not filtered");
    is_told = true;
  }
  return is_watched && is_counting_wanted;
}

void watch_loading_to_filter() {
  const bool is_counting = __atomic_load_n(&text_state.is_counting, __ATOMIC_SEQ_CST) != 0;
  watch_loading(is_counting && are_new_counted);
}

void pass_over_loaded_modules() {
  add_mapped_modules();
  settle_new_modules();
  are_others_settled = true;
}

}  // namespace fbleprof::capture
