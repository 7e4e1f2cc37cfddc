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

void start_attached(AttachOrder& order, void (*tell_end)()) {
  constexpr int kMost = 64;
  char* environment[kMost + 1];
  int count = 0;
  for (char* at = order.settings; *at && count < kMost; ++at) {
    environment[count++] = at;
    while (*at) ++at;
  }
  environment[count] = nullptr;
  expect_found_threads(tell_end);
  start_process(environment);
  order.is_recording = is_profiling();
  if (order.is_recording) return;
  const char* reason = profile.output.failure.c_str();
  if (!*reason) reason = "the recorder cannot work in this process";
  for (std::uint32_t i = 0; reason[i] && i + 1 < sizeof order.reason; ++i) {
    order.reason[i] = reason[i];
  }
}

}  // namespace fbleprof::capture
