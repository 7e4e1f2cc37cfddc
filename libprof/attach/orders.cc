#include "attach/orders.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "attach/own_library.h"
#include "format/attach_order.h"

namespace fbleprof::attach {

using format::OrderAnswer;
using format::OrderModule;
using format::OrderStep;
using format::RecorderOrder;

namespace {

constexpr std::uint64_t kRoomForCalls = 256 << 10;
static_assert(sizeof(RecorderOrder) + BorrowedThread::kTextBytes + kRoomForCalls <=
              format::kAttachBytes);

}  // namespace

OrderPointer order_for(OrderStep step) {
  auto order = std::make_unique<RecorderOrder>();
  std::memcpy(order->magic, format::kOrderMagic, sizeof order->magic);
  order->version = format::kOrderVersion;
  order->step = step;
  order->tracer = static_cast<std::uint32_t>(getpid());
  return order;
}

Result<bool> obey(pid_t pid, const std::string& library, BorrowedThread& thread,
                  RecorderOrder& order) {
  const std::uint64_t function = find_in_library(pid, library, "fbleprof_obey_order");
  if (function == 0) {
    return error_of(pid, "its recorder is that of another fble-prof", "restart the program");
  }
  if (!thread.write(thread.stack(), &order, sizeof order)) {
    return unwritable_memory(pid);
  }
  if (!thread.call(function, thread.stack())) return false;
  if (!thread.read(thread.stack(), &order, sizeof order)) {
    return unreadable_memory(pid);
  }
  order.reason[sizeof order.reason - 1] = order.filter[sizeof order.filter - 1] = 0;
  if (order.answer == OrderAnswer::kRefused) return error_of(pid, order.reason);
  order.count = std::min(order.count, format::kMostOrderModules);
  return order.answer == OrderAnswer::kDone;
}

Result<bool> obey_in_any_thread(pid_t pid, const std::string& library, RecorderOrder& order) {
  const auto thread = BorrowedThread::take(pid);
  if (!thread) return thread.error();
  return obey(pid, library, **thread, order);
}

void hand_over(BorrowedThread& thread, const std::string& bytes, OrderModule& module) {
  if (bytes.empty()) return;
  const std::uint64_t at = thread.map(bytes.size());
  if (at == 0 || !thread.write(at, bytes.data(), bytes.size())) return;
  module.given = at;
  module.given_bytes = bytes.size();
}

Status insist(pid_t pid, const std::function<Result<bool>()>& attempt) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const auto done = attempt();
    if (!done) return done.error();
    if (*done) return std::nullopt;
    if (has_ended(pid)) return error_of(pid, "it has ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return error_of(pid, "it loads or unloads libraries all the time", "try again");
}

Status insist_in_rounds(pid_t pid, OrderStep step,
                        const std::function<Result<bool>(RecorderOrder& order)>& attempt) {
  constexpr int kMostRounds = 64;  // what the recorder says need not be true
  std::uint64_t after = 0;
  for (int i = 0; i < kMostRounds; ++i) {
    bool is_last = true;
    const Status bad = insist(pid, [&] {
      const OrderPointer order = order_for(step);
      order->after = after;
      auto done = attempt(*order);
      if (!done || !*done) return done;
      is_last = order->count < format::kMostOrderModules;
      after = order->modules[format::kMostOrderModules - 1].begin;
      return done;
    });
    if (bad || is_last) return bad;
  }
  return error_of(pid, "it has more than " +
                           std::to_string(kMostRounds * format::kMostOrderModules) + " libraries");
}

}  // namespace fbleprof::attach
