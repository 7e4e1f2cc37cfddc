// A library that looks like a recorder, and answers what a test tells it.
#include "format/recorder_order.h"
#include "format/text_changes.h"

using fbleprof::format::OrderAnswer;
using fbleprof::format::RecorderOrder;
using fbleprof::format::TextState;

extern "C" {

const char* fbleprof_output_path = "/nowhere/mlmon.out";

TextState other_state{};
TextState* fbleprof_text_state = &other_state;

RecorderOrder other_answer{};
std::uint32_t other_orders = 0;

void fbleprof_obey_order(RecorderOrder* order) {
  ++other_orders;
  order->answer = other_answer.answer;
  order->count = other_answer.count;
  __builtin_memcpy(order->reason, other_answer.reason, sizeof order->reason);
  __builtin_memcpy(order->filter, other_answer.filter, sizeof order->filter);
  if (order->answer == OrderAnswer::kDone && order->count != 0) {
    order->modules[0] = other_answer.modules[0];
  }
}
}
