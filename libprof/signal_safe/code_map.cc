#include "signal_safe/code_map.h"

#include <elf.h>

#include "signal_safe/session.h"
#include "signal_safe/unwind_table.h"

namespace fbleprof::signal_safe {

namespace {

std::uint32_t hash_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key * 0x9e3779b97f4a7c15u >> 40);
}

// How a block or an instruction is told from a native function in the table: user addresses leave
// the top bits free.
std::uint64_t key_of(std::uint64_t address, format::FunctionKind kind) {
  return address | (static_cast<std::uint64_t>(kind) + 1) << 56;
}

bool is_elf(const unsigned char* at) {
  return at[0] == 0x7f && at[1] == 'E' && at[2] == 'L' && at[3] == 'F';
}

struct BuildId {
  const char* bytes = nullptr;
  std::uint32_t length = 0;
};

struct ProgramHeaders {
  const Elf64_Phdr* first = nullptr;
  std::uint32_t count = 0;
};

ProgramHeaders headers_of(const LoadedModule& loaded) {
  if (loaded.headers) return {loaded.headers, loaded.header_count};
  const auto* elf = reinterpret_cast<const Elf64_Ehdr*>(loaded.begin);
  if (!is_elf(elf->e_ident) || elf->e_phentsize != sizeof(Elf64_Phdr)) return {};
  return {reinterpret_cast<const Elf64_Phdr*>(loaded.begin + elf->e_phoff), elf->e_phnum};
}

bool is_loaded(const ProgramHeaders& headers, const Elf64_Phdr& part) {
  for (std::uint32_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& segment = headers.first[i];
    if (segment.p_type == PT_LOAD && part.p_vaddr >= segment.p_vaddr &&
        part.p_vaddr + part.p_memsz <= segment.p_vaddr + segment.p_filesz) {
      return true;
    }
  }
  return false;
}

// The build-id of a loaded object: a note in one of its segments.
BuildId build_id_of(const LoadedModule& loaded) {
  const ProgramHeaders headers = headers_of(loaded);
  for (std::uint32_t i = 0; i < headers.count; ++i) {
    const Elf64_Phdr& header = headers.first[i];
    if (header.p_type != PT_NOTE || !is_loaded(headers, header)) continue;
    std::uint64_t at = loaded.load_bias + header.p_vaddr;
    const std::uint64_t stop = at + header.p_memsz;
    const std::uint64_t align = header.p_align == 8 ? 8 : 4;
    while (at + sizeof(Elf64_Nhdr) <= stop) {
      const auto* note = reinterpret_cast<const Elf64_Nhdr*>(at);
      const std::uint64_t name = at + sizeof *note;
      const std::uint64_t desc = name + (note->n_namesz + align - 1) / align * align;
      const auto* text = reinterpret_cast<const char*>(name);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && text[0] == 'G' &&
          text[1] == 'N' && text[2] == 'U' && desc + note->n_descsz <= stop) {
        return {reinterpret_cast<const char*>(desc), note->n_descsz};
      }
      at = desc + (note->n_descsz + align - 1) / align * align;
    }
  }
  return {};
}

}  // namespace

void CodeMap::adopt(void* table, Arena* arena) {
  table_ = static_cast<Item*>(table);
  arena_ = arena;
  epoch_.fetch_add(1, std::memory_order_relaxed);
}

format::Ref CodeMap::function_at(FunctionCache& cache, std::uint64_t pc) {
  return remember(cache, pc, Wanted::kFunction);
}

format::Ref CodeMap::hooked_function_at(FunctionCache& cache, std::uint64_t pc) {
  return remember(cache, pc, Wanted::kHook);
}

format::Ref CodeMap::place_at(FunctionCache& cache, std::uint64_t pc) {
  return remember(cache, pc, Wanted::kPlace);
}

format::Ref CodeMap::remember(FunctionCache& cache, std::uint64_t pc, Wanted wanted) {
  const std::uint32_t epoch = epoch_.load(std::memory_order_relaxed);
  // The function around an address and the place there are two answers.
  const std::uint64_t question = wanted == Wanted::kPlace ? ~pc : pc;
  FunctionCache::Item& item = cache.items[hash_of(pc) % FunctionCache::kItems];
  if (item.pc == question && item.epoch == epoch) return item.function;
  CodeRange range = code_range_at(pc);
  if (wanted == Wanted::kHook && !range.exact) range = {pc, 0, false};
  if (wanted == Wanted::kPlace && !range.exact && range.size >= kLongGapBytes) {
    range = {pc / kStretchBytes * kStretchBytes, kStretchBytes, false};
  }
  const format::Ref function = find_or_add(key_of(range.start, format::FunctionKind::kNative),
                                           range, pc, format::FunctionKind::kNative);
  // A signal's hook may look here between any two stores: it must not believe half an answer.
  item.epoch = 0;
  asm volatile("" ::: "memory");
  item.pc = question;
  item.function = function;
  asm volatile("" ::: "memory");
  item.epoch = function != 0 ? epoch : 0;
  return function;
}

format::Ref CodeMap::function_with_key(std::uint64_t key, format::FunctionKind kind) {
  return find_or_add(key_of(key, kind), {key, 0}, key, kind);
}

format::Ref CodeMap::find_or_add(std::uint64_t key, CodeRange range, std::uint64_t pc,
                                 format::FunctionKind kind) {
  std::uint32_t i = hash_of(key) % kTableItems;
  for (std::uint32_t probes = 0; probes < 256; ++probes, i = (i + 1) % kTableItems) {
    Item& item = table_[i];
    std::uint64_t found = item.key.load(std::memory_order_acquire);
    if (found == 0 && !item.key.compare_exchange_strong(found, key, std::memory_order_acq_rel)) {
      // Somebody took the place; `found` says for which key.
    } else if (found == 0) {
      found = key;
    }
    if (found != key) continue;
    format::Ref function = item.function.load(std::memory_order_acquire);
    if (function != 0) return function;
    // New. Two threads may both make the record; one of them wins, the other's stays unused.
    const format::Ref made = arena_->allocate(sizeof(format::Function), 0);
    if (made == 0) return 0;
    auto* record = arena_->at<format::Function>(made);
    record->address = range.start;
    record->size = range.size;
    record->kind = kind;
    const bool is_code =
        kind == format::FunctionKind::kNative || kind == format::FunctionKind::kInstruction;
    record->module = is_code ? module_of(pc) : 0;
    if (!item.function.compare_exchange_strong(function, made, std::memory_order_acq_rel)) {
      return function;
    }
    push_front(&arena_->header()->first_function, &record->next, made);
    return made;
  }
  return 0;
}

format::Ref CodeMap::module_of(std::uint64_t pc) {
  LoadedObject object;
  const bool is_known = find_object(pc, &object);
  // Newest first, so that of two modules that held the address one after the other the loaded one
  // is found; unloaded ones are passed over, and one with others in a hole between its segments.
  for (format::Ref ref = __atomic_load_n(&arena_->header()->first_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    const auto* module = arena_->at<format::Module>(ref);
    if (pc >= module->begin && pc < module->end && module->unloaded_ns == 0 &&
        (!is_known || module->load_bias == object.load_bias)) {
      return ref;
    }
    ref = module->next;
  }
  if (!is_known) return 0;
  LoadedModule loaded;
  loaded.begin = object.begin;
  loaded.end = object.end;
  loaded.load_bias = object.load_bias;
  loaded.path = object.path;
  loaded.loaded_ns = arena_->header()->end_monotonic_ns - session.start_monotonic_ns;
  return add_module(loaded);
}

format::Ref CodeMap::add_module(const LoadedModule& loaded) {
  const format::Ref ref = arena_->allocate(sizeof(format::Module), 0);
  if (ref == 0) return 0;
  auto* module = arena_->at<format::Module>(ref);
  std::uint32_t length = 0;
  while (loaded.path && loaded.path[length] && length < 4096) ++length;
  module->path = length ? arena_->add_string(loaded.path, length) : 0;
  module->load_bias = loaded.load_bias;
  module->begin = loaded.begin;
  module->end = loaded.end;
  module->loaded_ns = loaded.loaded_ns;
  module->flags = loaded.flags;
  const BuildId build_id = build_id_of(loaded);
  if (build_id.length > 0 && build_id.length <= 64) {
    module->build_id = arena_->add_string(build_id.bytes, build_id.length);
  }
  push_front(&arena_->header()->first_module, &module->next, ref);
  return ref;
}

void CodeMap::retire(std::uint64_t begin, std::uint64_t end, std::uint64_t unloaded_ns) {
  for (format::Ref ref = __atomic_load_n(&arena_->header()->first_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = arena_->at<format::Module>(ref);
    if (module->begin >= begin && module->end <= end && module->unloaded_ns == 0) {
      module->unloaded_ns = unloaded_ns > 0 ? unloaded_ns : 1;
    }
    ref = module->next;
  }
  for (std::uint32_t i = 0; i < kTableItems; ++i) {
    const std::uint64_t key = table_[i].key.load(std::memory_order_relaxed);
    const auto kind = static_cast<format::FunctionKind>((key >> 56) - 1);
    const std::uint64_t address = key & ((std::uint64_t{1} << 56) - 1);
    if (key != 0 && kind != format::FunctionKind::kBlock && address >= begin && address < end) {
      table_[i].function.store(0, std::memory_order_release);
    }
  }
  epoch_.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace fbleprof::signal_safe
