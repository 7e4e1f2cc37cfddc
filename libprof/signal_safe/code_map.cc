#include "signal_safe/code_map.h"

#include <elf.h>

namespace fbleprof::signal_safe {

namespace {

// Marks an entry of the table of functions whose module was unloaded.
constexpr format::Ref kStale = 1u << 31;

// The key in the table separates blocks and instructions from native functions: user addresses
// leave the top bits free.
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

bool CodeMap::start(Arena* arena, Pages* pages, CodeSource source) {
  arena_ = arena;
  source_ = source;
  epoch_.fetch_add(1, std::memory_order_relaxed);
  return facts_.start(pages) && functions_.start(pages);
}

format::Ref CodeMap::look_up(std::uint64_t pc, Question question, std::uint64_t fact) {
  const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
  CodeRange range = source_.range_at(pc);
  if (question == Question::kHook && !range.exact) range = {pc, 0, false};
  const bool tells_place = range.exact || (range.size != 0 && range.size < kLongGapBytes);
  if (question == Question::kPlace && !tells_place) {
    if (module_of(pc) == 0) {
      const format::Ref generated = generated_at(pc);
      if (generated != 0 && epoch_.load(std::memory_order_acquire) == epoch) {
        facts_.add(fact, generated | kIsGenerated);
      }
      return generated;
    }
    range = {pc / kStretchBytes * kStretchBytes, kStretchBytes, false};
  }
  const format::Ref function = find_or_add(key_of(range.start, format::FunctionKind::kNative),
                                           range, pc, format::FunctionKind::kNative);
  if (function == 0) return 0;
  if (question == Question::kHook) {
    auto* record = arena_->at<format::Function>(function);
    __atomic_fetch_or(&record->flags, format::kFunctionHooked, __ATOMIC_RELAXED);
    if (record->module != 0) {
      __atomic_fetch_or(&arena_->at<format::Module>(record->module)->flags, format::kModuleIsHooked,
                        __ATOMIC_RELAXED);
    }
  }
  if (epoch_.load(std::memory_order_acquire) == epoch) facts_.add(fact, function);
  return function;
}

format::Ref CodeMap::function_with_key(std::uint64_t key, format::FunctionKind kind) {
  return find_or_add(key_of(key, kind), {key, 0}, key, kind);
}

// Keys of runtimes are in the table of functions as if they were functions of scripts.
static constexpr auto kKeyKind = format::FunctionKind::kScript;
// Kinds that only keys have. The key of a stand-in is the reference to its function's record. That
// of generated code is its stretch and, in the bits that a stretch leaves free, a number: 0 for the
// first code that was met there.
static constexpr auto kHolderKey = static_cast<format::FunctionKind>(15);
static constexpr auto kWakerKey = static_cast<format::FunctionKind>(14);
static constexpr auto kGeneratedKey = static_cast<format::FunctionKind>(13);

format::Ref CodeMap::find_block(std::uint32_t number) {
  const format::Ref found = functions_.find(key_of(number, format::FunctionKind::kBlock));
  if (found != 0) name_block(number, found);
  return found;
}

format::Ref CodeMap::find_key(std::uint64_t key) {
  const format::Ref found = functions_.find(key_of(key, kKeyKind));
  if (found != 0) facts_.add(fact_of(key, Question::kKey), found);
  return found;
}

bool CodeMap::name_key(std::uint64_t key, format::Ref before, format::Ref block) {
  KeyTable::Item* item = functions_.place_of(key_of(key, kKeyKind));
  if (item == nullptr) return false;
  if (!item->record.compare_exchange_strong(before, block, std::memory_order_acq_rel)) return false;
  facts_.add(fact_of(key, Question::kKey), block);
  return true;
}

format::Ref CodeMap::stand_in(format::Ref function, std::uint16_t as) {
  const auto kind = as == format::kFunctionHolder ? kHolderKey : kWakerKey;
  KeyTable::Item* item = functions_.place_of(key_of(function, kind));
  if (item == nullptr) return 0;
  format::Ref found = item->record.load(std::memory_order_acquire);
  if (found != 0) return found;
  const format::Ref made = arena_->allocate(sizeof(format::Function));
  if (made == 0) return 0;
  auto* record = arena_->at<format::Function>(made);
  // The record stays unfinished meanwhile: a reader would take it for the function itself.
  format::Function copy = *arena_->at<format::Function>(function);
  copy.head = record->head;
  copy.flags = as;
  *record = copy;
  arena_->publish(made, format::Kind::kFunction);
  if (item->record.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  // Another thread was first, and nothing refers to our record.
  arena_->publish(made, format::Kind::kPrivate);
  return found;
}

format::Ref CodeMap::generated_at(std::uint64_t pc) {
  static_assert(kMostGenerations <= kStretchBytes);
  const std::uint64_t stretch = pc / kStretchBytes * kStretchBytes;
  const auto hash_at = __atomic_load_n(&source_.code_hash_at, __ATOMIC_RELAXED);
  const std::uint32_t hash = hash_at != nullptr ? hash_at(pc) : 0;
  format::Ref found = 0;
  for (std::uint64_t number = 0; number < kMostGenerations; ++number) {
    KeyTable::Item* item = functions_.place_of(key_of(stretch | number, kGeneratedKey));
    if (item == nullptr) break;
    found = item->record.load(std::memory_order_acquire);
    if (found == 0) found = add_generated(item, stretch, hash);
    // Code that cannot be read counts as what was met first.
    if (found == 0 || hash == 0 || arena_->at<format::Function>(found)->code_hash == hash) break;
  }
  return found;
}

format::Ref CodeMap::add_generated(KeyTable::Item* item, std::uint64_t stretch,
                                   std::uint32_t hash) {
  const format::Ref made = arena_->allocate(sizeof(format::Function));
  if (made == 0) return 0;
  auto* record = arena_->at<format::Function>(made);
  record->address = stretch;
  record->size = kStretchBytes;
  record->kind = format::FunctionKind::kNative;
  record->code_hash = hash;
  const auto note_moment = __atomic_load_n(&source_.note_moment, __ATOMIC_RELAXED);
  if (note_moment != nullptr) note_moment(record);
  arena_->publish(made, format::Kind::kFunction);
  format::Ref found = 0;
  if (item->record.compare_exchange_strong(found, made, std::memory_order_acq_rel)) {
    generated_.fetch_add(1, std::memory_order_relaxed);
    return made;
  }
  // Another thread was first, and nothing refers to our record.
  arena_->publish(made, format::Kind::kPrivate);
  return found;
}

void CodeMap::note_refusal(std::uint64_t start, std::uint32_t size, std::uint8_t reason) {
  const auto kind = format::FunctionKind::kNative;
  const format::Ref function = find_or_add(key_of(start, kind), {start, size, true}, start, kind);
  if (function == 0) return;
  __atomic_fetch_or(&arena_->at<format::Function>(function)->flags,
                    format::kFunctionNotCounted | reason << format::kFunctionReasonShift,
                    __ATOMIC_RELAXED);
}

void CodeMap::note_unhooked(std::uint64_t hook_pc, std::uint8_t reason,
                            std::uint64_t since_start_ns) {
  const format::Ref function = hooked_function_at(hook_pc);
  if (function == 0) return;
  auto* record = arena_->at<format::Function>(function);
  record->unhooked_ns = since_start_ns;
  // The reason may replace another one, for which some calls were not counted before.
  constexpr auto kLower = static_cast<std::uint16_t>((1 << format::kFunctionReasonShift) - 1);
  std::uint16_t before = __atomic_load_n(&record->flags, __ATOMIC_RELAXED), after;
  do {
    after = static_cast<std::uint16_t>((before & kLower) | format::kFunctionNotCounted |
                                       reason << format::kFunctionReasonShift);
  } while (!__atomic_compare_exchange_n(&record->flags, &before, after, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

format::Ref CodeMap::find_or_add(std::uint64_t key, CodeRange range, std::uint64_t pc,
                                 format::FunctionKind kind) {
  KeyTable::Item* item = functions_.place_of(key);
  if (item == nullptr) return 0;
  format::Ref found = item->record.load(std::memory_order_acquire);
  if (found != 0 && !(found & kStale)) return found;
  const bool is_code =
      kind == format::FunctionKind::kNative || kind == format::FunctionKind::kInstruction;
  const format::Ref module = is_code ? module_of(pc) : 0;
  if (found != 0 && arena_->at<format::Function>(found & ~kStale)->module == module) {
    // The same code was loaded again. If another thread was first, it found the same record.
    item->record.compare_exchange_strong(found, found & ~kStale, std::memory_order_acq_rel);
    return found & ~kStale;
  }
  const format::Ref made = arena_->allocate(sizeof(format::Function));
  if (made == 0) return 0;
  auto* record = arena_->at<format::Function>(made);
  record->address = range.start;
  record->size = range.size;
  record->kind = kind;
  record->module = module;
  if (is_code && left_out_.contains(range.start)) {
    record->flags = format::kFunctionLeftOut | format::kFunctionNotCounted;
  }
  arena_->publish(made, format::Kind::kFunction);
  if (!item->record.compare_exchange_strong(found, made, std::memory_order_acq_rel)) {
    // Another thread was first, and nothing refers to our record.
    arena_->publish(made, format::Kind::kPrivate);
    return found & ~kStale;
  }
  if (module != 0) {
    __atomic_fetch_or(&arena_->at<format::Module>(module)->flags, format::kModuleIsKnown,
                      __ATOMIC_RELAXED);
  }
  return made;
}

format::Ref CodeMap::module_of(std::uint64_t pc) {
  LoadedObject object;
  const bool is_known = source_.object_at(pc, &object);
  // Newest first. Skip modules that are unloaded, and a module that has another one in a hole
  // between its segments.
  for (format::Ref ref = __atomic_load_n(&arena_->header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    const auto* module = arena_->at<format::Module>(ref);
    if (pc >= module->begin && pc < module->end && module->unloaded_ns == 0 &&
        (!is_known || module->load_bias == object.load_bias)) {
      return ref;
    }
    ref = module->older;
  }
  if (!is_known) return 0;
  LoadedModule loaded;
  loaded.begin = object.begin;
  loaded.end = object.end;
  loaded.load_bias = object.load_bias;
  loaded.path = object.path;
  const format::Header* header = arena_->header();
  loaded.loaded_ns = header->end_monotonic_ns - header->start_monotonic_ns;
  return add_module(loaded);
}

namespace {

bool same_text(const Arena& arena, format::Ref string, const char* bytes, std::uint32_t length) {
  if (string == 0) return length == 0;
  const auto* text = arena.at<format::String>(string);
  if (text->length != length) return false;
  for (std::uint32_t i = 0; i < length; ++i) {
    if (text->bytes[i] != bytes[i]) return false;
  }
  return true;
}

}  // namespace

format::Ref CodeMap::shared_string(const char* bytes, std::uint32_t length) {
  if (length == 0) return 0;
  std::uint64_t hash = length;
  for (std::uint32_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  const std::uint64_t fact = fact_of(hash, Question::kText);
  const format::Ref known = facts_.find(fact);
  if (known != 0 && same_text(*arena_, known, bytes, length)) return known;
  const format::Ref made = arena_->add_string(bytes, length);
  if (made != 0) facts_.add(fact, made);
  return made;
}

bool CodeMap::is_part_of(format::Ref part, format::Ref whole) {
  const auto& piece = *arena_->at<format::Function>(part);
  const auto& function = *arena_->at<format::Function>(whole);
  std::uint64_t hash = piece.address * 0x9e3779b97f4a7c15u + function.address;
  hash ^= hash >> 29;
  const std::uint64_t fact = fact_of(hash, Question::kPart);
  // The answer is the function that owns the code.
  if (const format::Ref known = facts_.find(fact)) return known == whole;
  const std::uint32_t epoch = epoch_.load(std::memory_order_acquire);
  const bool is_part = source_.is_part_of(piece, function);
  if (epoch_.load(std::memory_order_acquire) == epoch) facts_.add(fact, is_part ? whole : part);
  return is_part;
}

format::Ref CodeMap::add_module(const LoadedModule& loaded) {
  BuildId build_id = build_id_of(loaded);
  if (build_id.length > 64) build_id.length = 0;
  std::uint32_t length = 0;
  while (loaded.path && loaded.path[length] && length < 4096) ++length;
  for (format::Ref ref = __atomic_load_n(&arena_->header()->newest_module, __ATOMIC_ACQUIRE);
       ref != 0;) {
    auto* module = arena_->at<format::Module>(ref);
    if (module->unloaded_ns != 0 && module->begin == loaded.begin && module->end == loaded.end &&
        module->load_bias == loaded.load_bias && build_id.length != 0 &&
        same_text(*arena_, module->build_id, build_id.bytes, build_id.length) &&
        same_text(*arena_, module->path, loaded.path, length)) {
      __atomic_fetch_or(&module->flags, loaded.flags, __ATOMIC_RELAXED);
      __atomic_store_n(&module->unloaded_ns, 0, __ATOMIC_RELEASE);
      return ref;
    }
    ref = module->older;
  }
  const format::Ref ref = arena_->allocate(sizeof(format::Module));
  if (ref == 0) return 0;
  auto* module = arena_->at<format::Module>(ref);
  module->path = length ? arena_->add_string(loaded.path, length) : 0;
  module->build_id = build_id.length ? arena_->add_string(build_id.bytes, build_id.length) : 0;
  module->load_bias = loaded.load_bias;
  module->begin = loaded.begin;
  module->end = loaded.end;
  module->loaded_ns = loaded.loaded_ns;
  module->flags = loaded.flags;
  arena_->publish(ref, format::Kind::kModule);
  format::Ref* newest = &arena_->header()->newest_module;
  format::Ref older = __atomic_load_n(newest, __ATOMIC_RELAXED);
  do {
    module->older = older;
  } while (
      !__atomic_compare_exchange_n(newest, &older, ref, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  return ref;
}

void CodeMap::retire(format::Ref ref, std::uint64_t unloaded_ns) {
  auto* module = arena_->at<format::Module>(ref);
  __atomic_store_n(&module->unloaded_ns, unloaded_ns > 0 ? unloaded_ns : 1, __ATOMIC_RELEASE);
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (!(module->flags & format::kModuleIsKnown)) return;
  const auto is_gone = [&](std::uint64_t address) {
    return address >= module->begin && address < module->end;
  };
  constexpr std::uint64_t kAddress = (std::uint64_t{1} << 56) - 1;
  functions_.for_each([&](std::uint64_t key, KeyTable::Item& item) {
    const auto kind = static_cast<format::FunctionKind>((key >> 56) - 1);
    format::Ref function = item.record.load(std::memory_order_acquire);
    if (kind == format::FunctionKind::kBlock || kind == kKeyKind || kind == kHolderKey ||
        kind == kWakerKey || kind == kGeneratedKey) {
      return;
    }
    if (!is_gone(key & kAddress) || function == 0) return;
    item.record.compare_exchange_strong(function, function | kStale, std::memory_order_acq_rel);
  });
  facts_.forget([&](std::uint64_t key) {
    const auto question = static_cast<Question>(key >> 56);
    if (question == Question::kPart) return true;  // its key is not an address
    const bool is_of_code = question <= Question::kPlace || question == Question::kEntersBlocks ||
                            question == Question::kIsLeaf;
    return is_of_code && is_gone(key & kAddress);
  });
}

}  // namespace fbleprof::signal_safe
