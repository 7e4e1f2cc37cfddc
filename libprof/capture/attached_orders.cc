#include "capture/attached_orders.h"

#include <link.h>

#include "capture/attached_calls.h"
#include "capture/attached_exact.h"
#include "capture/attached_filter.h"
#include "capture/attached_loading.h"
#include "capture/found_threads.h"
#include "capture/profile.h"
#include "capture/text_changes.h"

namespace fbleprof::capture {

using format::OrderAnswer;
using format::OrderStep;
using format::put_text;
using format::RecorderOrder;

namespace {

// Why no order can be obeyed; null: it can.
const char* obstacle_to(const RecorderOrder& order) {
  if (order.version != format::kOrderVersion) {
    return "its recorder is that of another fble-prof: restart the program";
  }
  abandon_truncated_profile();
  if (!is_profiling() || !is_own_process()) return "its recorder has ended";
  if (!are_threads_found() && order.step != OrderStep::kWatch) {
    return "it was started with the recorder: use the option there";
  }
  return nullptr;
}

bool is_for_counting(OrderStep step) {
  return step == OrderStep::kChooseModules || step == OrderStep::kPrepareCounting ||
         step == OrderStep::kFinishCounting;
}

// In a program that was started with the recorder, the calls come to us anyway.
void watch() {
  if (!are_threads_found()) return;
  watch_calls();
  watch_loading_to_filter();
}

// False: try again.
bool take_step(RecorderOrder& order) {
  switch (order.step) {
    case OrderStep::kChooseModules:
      return choose_modules(order), true;
    case OrderStep::kPrepareCounting:
      watch_calls();
      return prepare_counting(order), true;
    case OrderStep::kFinishCounting:
      return finish_counting(), true;
    case OrderStep::kNameUnfiltered:
      return name_unfiltered(order), true;
    case OrderStep::kFilter:
      return filter(order), true;
    case OrderStep::kWatch:
      return watch(), true;
    case OrderStep::kUnwatch:
      return unwatch_calls();
  }
  return true;
}

}  // namespace

void obey_order(RecorderOrder& order) {
  if (__builtin_memcmp(order.magic, format::kOrderMagic, sizeof order.magic) != 0) return;
  const char* obstacle = obstacle_to(order);
  if (!obstacle && is_for_counting(order.step)) obstacle = obstacle_to_counting();
  if (obstacle) {
    order.answer = OrderAnswer::kRefused;
    put_text(order.reason, obstacle);
    return;
  }
  order.answer = OrderAnswer::kNotNow;
  if (_r_debug.r_state != r_debug::RT_CONSISTENT || !take_turn(order.tracer)) return;
  if (take_step(order)) order.answer = OrderAnswer::kDone;
  end_turn();
}

}  // namespace fbleprof::capture
