// From an address to the function that owns it, in hooks and handlers.
//
// Which object an address lies in, the loader tells without a lock (_dl_find_object, glibc 2.35).
// Where its functions begin and end, the object's own unwind table tells (.eh_frame_hdr is a sorted
// table and is there in stripped binaries). Both are reads of memory that is mapped as long as the
// code in it can run. What was found becomes a record of the file, once for all threads, and is
// remembered by each thread in a small cache.
#pragma once

#include <elf.h>

#include <atomic>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

// A thread's memory of recent answers.
struct FunctionCache {
  struct Item {
    std::uint64_t pc;
    format::Ref function;
    std::uint32_t epoch;
  };
  static constexpr std::uint32_t kItems = 4096;
  Item items[kItems];
};

// A module that is loaded.
struct LoadedModule {
  std::uint64_t begin = 0, end = 0;  // from its first segment to its last; others may lie between
  std::uint64_t load_bias = 0;
  const char* path = nullptr;  // may be null
  std::uint32_t flags = 0;     // format::kModule...
  std::uint64_t loaded_ns = 0;
  // Where its first segment may not begin with the ELF header, which tells these.
  const Elf64_Phdr* headers = nullptr;
  std::uint32_t header_count = 0;
};

class CodeMap {
 public:
  // Memory for the table of functions: kTableBytes, zeroed. Before anything else.
  void adopt(void* table, Arena* arena);

  // The function whose code holds pc; made known to the file if it is new. 0 only when the file
  // has no space for it. Bounded; async-signal-safe; any thread.
  format::Ref function_at(FunctionCache& cache, std::uint64_t pc);

  // The function that a hook at pc was called from. Where no unwind entry tells its bounds, the
  // hook's address is its identity: there is one hook a function.
  format::Ref hooked_function_at(FunctionCache& cache, std::uint64_t pc);

  // As function_at, for a frame of a walked stack: in a long gap without unwind entries, a stretch
  // of kStretchBytes around pc. Go's functions and V8's built-in ones have none, but they have
  // symbols.
  format::Ref place_at(FunctionCache& cache, std::uint64_t pc);

  // The record of an arbitrary key: a block (address = its number) or a sampled instruction.
  format::Ref function_with_key(std::uint64_t key, format::FunctionKind kind);

  // Registers a module; 0 if there is no space.
  format::Ref add_module(const LoadedModule& loaded);

  // Forgets what was known of addresses in [begin, end): the module was unloaded.
  void retire(std::uint64_t begin, std::uint64_t end, std::uint64_t unloaded_ns);

  // Changes whenever code may have gone: what was remembered before is void.
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  static constexpr std::uint32_t kStretchBytes = 16;  // what compilers align functions to
  static constexpr std::uint32_t kLongGapBytes = 4096;

  static constexpr std::uint32_t kTableItems = 1u << 18;
  static constexpr std::uint64_t kTableBytes = kTableItems * 16ull;

 private:
  struct Item {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint32_t> function;  // 0 while it is being made, and after retirement
    std::uint32_t padding;
  };

  format::Ref find_or_add(std::uint64_t key, CodeRange range, std::uint64_t pc,
                          format::FunctionKind kind);
  enum class Wanted { kFunction, kHook, kPlace };
  format::Ref remember(FunctionCache& cache, std::uint64_t pc, Wanted wanted);
  format::Ref module_of(std::uint64_t pc);

  Item* table_ = nullptr;
  Arena* arena_ = nullptr;
  std::atomic<std::uint32_t> epoch_{1};
};

}  // namespace fbleprof::signal_safe
