#include "capture/attached.h"

#include <sys/uio.h>

#include "arch/kernel.h"
#include "capture/found_threads.h"
#include "capture/loader_symbols.h"
#include "capture/process.h"
#include "capture/profile.h"

namespace fbleprof::capture {

using arch::kernel_call;
using format::AttachOrder;

AttachOrder* find_attach_order() {
  const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  auto* order = reinterpret_cast<AttachOrder*>(here / format::kAttachBytes * format::kAttachBytes);
  // On another stack there may be no memory at that address.
  char magic[sizeof order->magic];
  const iovec to{magic, sizeof magic}, from{order->magic, sizeof magic};
  const long got = kernel_call(SYS_process_vm_readv, kernel_call(SYS_getpid),
                               reinterpret_cast<long>(&to), 1, reinterpret_cast<long>(&from), 1, 0);
  const bool is_there = got == static_cast<long>(sizeof magic) &&
                        __builtin_memcmp(magic, format::kAttachMagic, sizeof magic) == 0;
  return is_there ? order : nullptr;
}

namespace {

void give_reason(AttachOrder& order, const char* reason) {
  for (std::uint32_t i = 0; i + 1 < sizeof order.reason; ++i) {
    order.reason[i] = reason[i];
    if (!reason[i]) return;
  }
}

void start(AttachOrder& order) {
  constexpr int kMost = 64;
  char* environment[kMost + 1];
  int count = 0;
  for (char* at = order.settings; *at && count < kMost; ++at) {
    environment[count++] = at;
    while (*at) ++at;
  }
  environment[count] = nullptr;
  start_process(environment, nullptr);
  order.is_recording = is_profiling();
  if (order.is_recording) return;
  const char* reason = profile.output.failure.c_str();
  if (!*reason) reason = "the recorder cannot work in this process";
  give_reason(order, reason);
}

}  // namespace

void start_attached(AttachOrder& order, void (*tell_end)()) {
  expect_found_threads(tell_end);
  start(order);
}

void start_attached_again(AttachOrder& order) {
  if (__builtin_memcmp(order.magic, format::kAttachMagic, sizeof order.magic) != 0) return;
  abandon_truncated_profile();
  if (is_profiling()) {
    order.is_recording = 1;
  } else if (are_threads_found()) {
    start(order);
  } else {
    give_reason(order, "it has a recorder that writes no file; restart the program");
  }
}

}  // namespace fbleprof::capture
