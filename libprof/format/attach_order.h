// What `fble-prof attach` tells the recorder that it loads into a running program, and what the
// recorder answers. It stands at the start of the stack on which the loader then runs, a mapping of
// kAttachBytes that begins at a multiple of that; so the recorder finds it by its stack pointer.
#pragma once

#include <cstdint>

namespace fbleprof::format {

inline constexpr std::uint64_t kAttachBytes = 1 << 20;
inline constexpr char kAttachMagic[16] = "FBLEPROF ATTACH";

struct AttachOrder {
  char magic[16];
  std::uint32_t is_recording;  // the answer: 1: yes
  std::uint32_t reserved;
  char reason[512];     // the answer, if it is no: one line
  char settings[8192];  // FBLEPROF_...=VALUE, each with its NUL; an empty one ends them
};

}  // namespace fbleprof::format
