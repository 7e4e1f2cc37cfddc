#include "signal_safe/call_before.h"

#include "arch/call_instruction.h"
#include "arch/hook_site.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

struct BytesBefore {
  std::uint8_t bytes[arch::kLongestCall];
  bool are_read;

  explicit BytesBefore(std::uint64_t site)
      : are_read(peek_anywhere(reinterpret_cast<const void*>(site - sizeof bytes), bytes,
                               sizeof bytes)) {}
};

// The content of the slot that a PLT stub jumps through; 0 if there is no stub at `address`.
std::uint64_t behind_stub(std::uint64_t address) {
  std::uint8_t code[arch::kStubBytes];
  std::uint64_t behind = 0;
  if (!peek_anywhere(reinterpret_cast<const void*>(address), code, sizeof code)) return 0;
  const std::uint64_t slot = arch::slot_of_stub(code);
  if (slot == 0) return 0;
  // The slot is named by its distance from the stub.
  const std::uint64_t moved = slot - reinterpret_cast<std::uint64_t>(code) + address;
  return peek_anywhere(reinterpret_cast<const void*>(moved), &behind, sizeof behind) ? behind : 0;
}

}  // namespace

bool follows_call(std::uint64_t site) {
  const BytesBefore before(site);
  return before.are_read && arch::is_call_at_end(before.bytes);
}

bool ends_goroutine(std::uint64_t site) {
  // nop; call runtime.goexit1; nop
  constexpr std::uint8_t kNop = 0x90;
  std::uint8_t code[2 + arch::kDirectCallBytes];
  return peek_anywhere(reinterpret_cast<const void*>(site - 1), code, sizeof code) &&
         code[0] == kNop && code[1] == arch::kCall && code[1 + arch::kDirectCallBytes] == kNop;
}

std::uint64_t callee_before(std::uint64_t site) {
  const BytesBefore before(site);
  if (!before.are_read || !arch::is_call_at_end(before.bytes)) return 0;
  const auto* const end = before.bytes + sizeof before.bytes;
  const auto* const slot_call = end - arch::kSlotSiteBytes;
  const std::uint64_t moved = site - reinterpret_cast<std::uint64_t>(end);
  if (slot_call[0] == arch::kCallSlot && slot_call[1] == arch::kSlotMode) {
    std::uint64_t callee = 0;
    const std::uint64_t slot = arch::target_of_distance(slot_call + 2) + moved;
    return peek_anywhere(reinterpret_cast<const void*>(slot), &callee, sizeof callee) ? callee : 0;
  }
  const auto* const call = end - arch::kDirectCallBytes;
  if (call[0] != arch::kCall) return 0;
  const std::uint64_t target = arch::target_of_distance(call + 1) + moved;
  if (const std::uint64_t rewritten = session.trampolines.function_at(target)) return rewritten;
  const std::uint64_t behind = behind_stub(target);
  return behind != 0 ? behind : target;
}

}  // namespace fbleprof::signal_safe
