// Green threads (fbleprof_context of the C API): shadow stacks in addition to the thread's own.
#pragma once

#include <cstdint>

#include "capture/api.h"
#include "format/format.h"

namespace fbleprof::capture {

// Binds a context to the machine stack that it mirrors, so that a return to another stack is
// noticed even without an announcement.
void bind_to_machine_stack(fbleprof_context* context, std::uint64_t low, std::uint64_t bytes);

// A new stack starts at the same address: forgets the context's entries, as begin_anew does. False:
// the context has no room for as many entries as the new stack needs.
bool bind_anew(fbleprof_context* context, std::uint64_t bytes, format::Ref base);
std::uint64_t bound_bytes(const fbleprof_context* context);

// Another function begins on the machine stack: forgets the context's entries. The function's
// blocks are children of `base`, a node of the calling thread's tree.
void begin_anew(fbleprof_context* context, format::Ref base);

// The machine stack continues at `sp`: ends all entries below it.
void drop_below(fbleprof_context* context, std::uint64_t sp);

// Makes a context whose first block is a child of `base`, a node of the calling thread's tree; null
// if there is no memory.
fbleprof_context* make_context(std::size_t most_entries, format::Ref base);

}  // namespace fbleprof::capture
