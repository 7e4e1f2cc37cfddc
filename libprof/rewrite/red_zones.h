// Which functions may be entered from code that keeps something below the stack pointer.
#pragma once

#include <vector>

#include "rewrite/branch.h"
#include "rewrite/jump_tables.h"

namespace fbleprof::rewrite {

// Sets `may_find_red_zone`. `ways`: in order.
void find_red_zones(const ElfImage& image, const std::vector<Branch>& branches,
                    const std::vector<Way>& ways, std::vector<Function>& functions);

// Sets `leaves_memory` of what is called at these addresses, and of what that calls or jumps to.
void find_kept_memory(const std::vector<Branch>& branches, const std::vector<Address>& called,
                      std::vector<Function>& functions);

}  // namespace fbleprof::rewrite
