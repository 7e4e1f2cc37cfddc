// The order that `fble-prof attach` gives to the recorder that it loads into a running program, and
// the recorder's answer. It is at the start of the stack on which the loader then runs, a mapping
// of kAttachBytes that begins at a multiple of kAttachBytes; so the recorder finds it from its
// stack pointer.
#pragma once

#include <cstdint>

namespace fbleprof::format {

inline constexpr std::uint64_t kAttachBytes = 1 << 20;
inline constexpr char kAttachMagic[16] = "FBLEPROF ATTACH";

struct AttachOrder {
  char magic[16];
  std::uint32_t is_recording;  // the answer: 1 if recording
  std::uint32_t reserved;
  char reason[512];     // the answer if not recording: one line
  char settings[8192];  // FBLEPROF_...=VALUE, each with its NUL; an empty one ends them
};

}  // namespace fbleprof::format
