// Finds the function that owns an address, in hooks and handlers.
//
// loaded_objects finds the object that holds an address. The object's own unwind table gives the
// bounds of functions (.eh_frame_hdr is sorted, and stripped binaries have it too). Both only read
// memory that stays mapped as long as the code in it can run. A result becomes a record of the file
// and a fact of the process, so no address is looked up twice, in whichever thread it occurs.
//
// Unloaded code leaves its records, which are found again if the same object is loaded at the same
// address: a plugin that is loaded repeatedly has one set of functions.
//
// Unless it says otherwise: any thread, hooks and handlers included; no lock, bounded.
#pragma once

#include <elf.h>

#include <atomic>
#include <cstdint>

#include "format/format.h"
#include "signal_safe/arena.h"
#include "signal_safe/code_parts.h"
#include "signal_safe/fact_table.h"
#include "signal_safe/key_table.h"
#include "signal_safe/left_out.h"
#include "signal_safe/pages.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

// A module that is loaded.
struct LoadedModule {
  std::uint64_t begin = 0, end = 0;  // from its first segment to its last; others may lie between
  std::uint64_t load_bias = 0;
  const char* path = nullptr;  // may be null
  std::uint32_t flags = 0;     // format::kModule...
  std::uint64_t loaded_ns = 0;
  // Given if the first segment may not begin with the ELF header, which otherwise leads to them.
  const Elf64_Phdr* headers = nullptr;
  std::uint32_t header_count = 0;
};

// The source of facts about code: the loader and the unwind tables, or a test.
struct CodeSource {
  CodeRange (*range_at)(std::uint64_t address) = code_range_at;
  bool (*object_at)(std::uint64_t address, LoadedObject* object) = find_object;
  bool (*is_part_of)(const format::Function& part,
                     const format::Function& whole) = is_part_of_function;
  // Tell generated code apart that used one address in turn; null: all of it counts as the same.
  std::uint32_t (*code_hash_at)(std::uint64_t address) = nullptr;
  void (*note_moment)(format::Function* generated) = nullptr;
};

class CodeMap {
 public:
  // Starts empty. False: there is no memory. Not thread-safe; call it before anything else.
  bool start(Arena* arena, Pages* pages, CodeSource source = {});

  // Makes no more system calls about generated code: one might end the program from now on.
  void stop_asking_kernel() {
    __atomic_store_n(&source_.code_hash_at, nullptr, __ATOMIC_RELAXED);
    __atomic_store_n(&source_.note_moment, nullptr, __ATOMIC_RELAXED);
  }

  // The function whose code contains pc; recorded in the file if it is new. 0 only if the file has
  // no space for it.
  format::Ref function_at(std::uint64_t pc) { return ask(pc, Question::kFunction); }

  // The function that a hook at pc was called from, marked as hooked. If no unwind entry gives its
  // bounds, the hook's address identifies the function: a function has one hook.
  format::Ref hooked_function_at(std::uint64_t pc) { return ask(pc, Question::kHook); }

  // As function_at, for a frame of a walked stack. In a long gap without unwind entries, the answer
  // is a stretch of kStretchBytes around pc: Go's functions and V8's built-in ones have no unwind
  // entries, but they have symbols. Code in no module is generated code, where the bytes around pc
  // decide, too: one address may hold several functions in turn.
  format::Ref place_at(std::uint64_t pc) {
    const format::Ref known = ask(pc, Question::kPlace);
    return known & kIsGenerated ? generated_at(pc) : known;
  }

  // What function_at and hooked_function_at have answered before, or 0.
  format::Ref known_function_at(std::uint64_t pc) const {
    return facts_.find(fact_of(pc, Question::kFunction));
  }
  format::Ref known_hook_at(std::uint64_t pc) const {
    return facts_.find(fact_of(pc, Question::kHook));
  }

  // As known_hook_at, for a function that is asked for again and again: *memory, 0 at first, keeps
  // the answer until code is unloaded. Any thread, several at a time.
  format::Ref known_hook_of(std::uint64_t pc, std::uint64_t* memory) const {
    if (const format::Ref kept = kept_hook(*memory)) return kept;
    const std::uint64_t now = std::uint64_t{epoch_.load(std::memory_order_acquire)} << 32;
    const format::Ref known = known_hook_at(pc);
    if (known != 0) __atomic_store_n(memory, now | known, __ATOMIC_RELAXED);
    return known;
  }
  // The answer that such memory keeps, or 0.
  format::Ref kept_hook(const std::uint64_t& memory) const {
    const std::uint32_t now = epoch_.load(std::memory_order_acquire);
    const std::uint64_t kept = __atomic_load_n(&memory, __ATOMIC_RELAXED);
    return kept >> 32 == now ? static_cast<format::Ref>(kept) : 0;
  }

  // Whether pc is in this function's code, as the record of a loaded function with a hook tells.
  // False: ask for the function at pc.
  bool is_surely_in(format::Ref function, std::uint64_t pc) const {
    const auto* record = arena_->at<format::Function>(function);
    // Records of other functions can span a gap between unwind entries.
    if (pc - record->address >= record->size || record->module == 0 ||
        (record->flags & format::kFunctionHooked) == 0) {
      return false;
    }
    const auto* module = arena_->at<format::Module>(record->module);
    return __atomic_load_n(&module->unloaded_ns, __ATOMIC_ACQUIRE) == 0;
  }

  // The record of an arbitrary key: a block (its number) or a sampled instruction.
  format::Ref function_with_key(std::uint64_t key, format::FunctionKind kind);
  // The record of a block that was named, or 0.
  format::Ref block(std::uint32_t number) {
    const format::Ref known = facts_.find(fact_of(number, Question::kBlock));
    return known != 0 ? known : find_block(number);
  }
  // Makes `number` name this record.
  void name_block(std::uint32_t number, format::Ref function) {
    facts_.add(fact_of(number, Question::kBlock), function);
  }

  // The record of the block that has a key of the runtime's own, or 0.
  format::Ref block_of_key(std::uint64_t key) {
    const format::Ref known = facts_.find(fact_of(key, Question::kKey));
    return known != 0 ? known : find_key(key);
  }
  // Gives the key to a block, if it still belongs to `before` (0: to none). False: it does not, or
  // there is no memory.
  bool name_key(std::uint64_t key, format::Ref before, format::Ref block);

  // A string record with these bytes; mostly the same record for the same bytes.
  format::Ref shared_string(const char* bytes, std::uint32_t length);

  // The record that stands for a function below a call that waited for it: `as` is
  // format::kFunctionHolder or kFunctionWaker. 0 if there is no space.
  format::Ref stand_in(format::Ref function, std::uint16_t as);

  // Functions that enter blocks of the C API, or call one that does; see context_at.h.
  void mark_entering(format::Ref function) {
    const auto* record = arena_->at<format::Function>(function);
    facts_.add(fact_of(record->address, Question::kEntersBlocks), function);
  }
  bool is_entering(format::Ref function) const {
    const auto* record = arena_->at<format::Function>(function);
    return facts_.find(fact_of(record->address, Question::kEntersBlocks)) != 0;
  }

  // Counted functions that call nothing: they get no entries.
  void mark_leaf(format::Ref function) {
    if (is_leaf(function)) return;
    const auto* record = arena_->at<format::Function>(function);
    facts_.add(fact_of(record->address, Question::kIsLeaf), function);
  }
  bool is_leaf(format::Ref function) const {
    const auto* record = arena_->at<format::Function>(function);
    return facts_.find(fact_of(record->address, Question::kIsLeaf)) != 0;
  }

  // Whether `part`, which has no hook, is a piece of `whole`; see code_parts.h.
  bool is_part_of(format::Ref part, format::Ref whole);

  // Registers a module; 0 if there is no space. A module that is loaded again gets its old record.
  format::Ref add_module(const LoadedModule& loaded);

  // Records that the calls of the function at `start` are not counted, for a reason of plan.h.
  void note_refusal(std::uint64_t start, std::uint32_t size, std::uint8_t reason);

  // Records that the calls of a function with a hook are not counted from now on, for such a
  // reason. `hook_pc` is what hooked_function_at() takes.
  void note_unhooked(std::uint64_t hook_pc, std::uint8_t reason, std::uint64_t since_start_ns);

  // Functions that are found later in such code are left out of trees.
  LeftOut& left_out() { return left_out_; }
  bool is_left_out(format::Ref function) const {
    return (arena_->at<format::Function>(function)->flags & format::kFunctionLeftOut) != 0;
  }

  // How many functions of generated code were met.
  std::uint32_t generated_count() const { return generated_.load(std::memory_order_relaxed); }

  // Forgets all facts about the addresses of this module, which was unloaded.
  void retire(format::Ref module, std::uint64_t unloaded_ns);

  // Changes whenever code may have been unloaded: facts remembered from before are then invalid.
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

  static constexpr std::uint32_t kStretchBytes = 16;  // compilers align functions to this
  static constexpr std::uint32_t kLongGapBytes = 4096;
  // How many pieces of code at one address are told apart; what follows them counts as the last.
  static constexpr std::uint32_t kMostGenerations = kStretchBytes;

 private:
  // Marks an answer in the table of facts as true for the present bytes only.
  static constexpr format::Ref kIsGenerated = 1u << 31;
  enum class Question : std::uint64_t {
    kFunction = 1,
    kHook = 2,
    kPlace = 3,
    kBlock = 4,
    kKey = 5,
    kText = 6,
    kEntersBlocks = 7,
    kPart = 8,
    kIsLeaf = 9
  };
  // User addresses leave the top bits free.
  static std::uint64_t fact_of(std::uint64_t pc, Question question) {
    return (pc & ((std::uint64_t{1} << 56) - 1)) | static_cast<std::uint64_t>(question) << 56;
  }
  format::Ref ask(std::uint64_t pc, Question question) {
    const std::uint64_t fact = fact_of(pc, question);
    const format::Ref known = facts_.find(fact);
    return known != 0 ? known : look_up(pc, question, fact);
  }
  // Finds what the table of facts lacks: a fact may be lost while the table grows.
  format::Ref find_block(std::uint32_t number);
  format::Ref find_key(std::uint64_t key);
  format::Ref look_up(std::uint64_t pc, Question question, std::uint64_t fact);
  format::Ref find_or_add(std::uint64_t key, CodeRange range, std::uint64_t pc,
                          format::FunctionKind kind);
  format::Ref generated_at(std::uint64_t pc);
  format::Ref add_generated(KeyTable::Item* item, std::uint64_t stretch, std::uint32_t hash);
  format::Ref module_of(std::uint64_t pc);

  Arena* arena_ = nullptr;
  CodeSource source_;
  FactTable facts_;
  KeyTable functions_;
  LeftOut left_out_;
  std::atomic<std::uint32_t> epoch_{1};
  std::atomic<std::uint32_t> generated_{0};
};

}  // namespace fbleprof::signal_safe
