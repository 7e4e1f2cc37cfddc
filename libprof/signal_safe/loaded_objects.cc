#include "signal_safe/loaded_objects.h"

#include <errno.h>
#include <link.h>
#include <sys/uio.h>

#include <atomic>

#include "arch/kernel.h"
#include "signal_safe/little_room.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;

// dl_find_object of glibc 2.35, which older headers lack.
struct LoaderAnswer {
  unsigned long long flags;
  void* begin;
  void* end;
  link_map* map;
  void* eh_frame_header;
  unsigned long long reserved[7];
};
using LoaderFunction = int (*)(void* address, LoaderAnswer* answer);
LoaderFunction loader_function = nullptr;

bool ask(std::uint64_t address, LoadedObject* object) {
  struct Query {
    std::uint64_t address;
    LoaderAnswer answer;
  } query{address, {}};
  // The loader may use vector registers.
  auto call = [](void* argument) -> long {
    auto* q = static_cast<Query*>(argument);
    return loader_function(reinterpret_cast<void*>(q->address), &q->answer);
  };
  long failed = 0;
  const auto ask_loader = [&] { failed = fbleprof_preserving_vectors(call, &query); };
  if (fbleprof_hot.top != nullptr) {
    call_with_room(*fbleprof_hot.self, ask_loader);
  } else {
    ask_loader();
  }
  if (failed != 0) return false;
  const LoaderAnswer& answer = query.answer;
  object->begin = reinterpret_cast<std::uint64_t>(answer.begin);
  object->end = reinterpret_cast<std::uint64_t>(answer.end);
  object->eh_frame_header = static_cast<const std::uint8_t*>(answer.eh_frame_header);
  object->load_bias = answer.map ? answer.map->l_addr : 0;
  object->path = answer.map ? answer.map->l_name : nullptr;
  return true;
}

// Our own table. A slot is claimed, written, and then published by its map.
struct Known {
  LoadedObject object;
  std::atomic<const link_map*> map{nullptr};  // null: free
  std::uint32_t seen = 0;                     // the last search for unloaded objects that found it
};
constexpr std::uint32_t kMostKnown = 4096, kMostListed = 16384;
const link_map* const kClaimed = reinterpret_cast<const link_map*>(1);
constinit Known known[kMostKnown];
constinit std::atomic<std::uint32_t> known_count{0};  // slots used so far
// The list's end at the last complete walk. If nothing follows it, there is nothing new.
constinit std::atomic<const link_map*> last_seen{nullptr};
constinit std::atomic<bool> may_read{true};

template <typename Function>
bool any_known(Function function) {
  const std::uint32_t count = known_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const link_map* map = known[i].map.load(std::memory_order_acquire);
    if (map && map != kClaimed && function(known[i], map)) return true;
  }
  return false;
}

const Elf64_Phdr* program_headers = nullptr;
std::uint32_t program_header_count = 0;

// Reads memory that may not exist any more.
bool read_safely(const void* from, void* to, std::uint64_t bytes) {
  if (!may_read.load(std::memory_order_relaxed)) return false;
  const iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
  const long got =
      arch::kernel_call(SYS_process_vm_readv, arch::kernel_call(SYS_getpid),
                        reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  if (got == static_cast<long>(bytes)) return true;
  if (got != -ENOSYS && got != -EPERM) return false;
  // Sandboxes refuse this call (ENOSYS, EPERM). The list rarely changes.
  for (std::uint64_t i = 0; i < bytes; ++i) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  }
  return true;
}

// Takes the object's extent and its unwind table from a program header.
void add_header(const Elf64_Phdr& header, LoadedObject& object) {
  const std::uint64_t at = object.load_bias + header.p_vaddr;
  if (header.p_type == PT_GNU_EH_FRAME) {
    object.eh_frame_header = reinterpret_cast<const std::uint8_t*>(at);
  }
  if (header.p_type != PT_LOAD) return;
  const std::uint64_t begin = at / kPage * kPage;
  if (object.end == 0 || begin < object.begin) object.begin = begin;
  if (at + header.p_memsz > object.end) object.end = at + header.p_memsz;
}

bool describe(const link_map& map, bool is_program, LoadedObject* object) {
  object->load_bias = map.l_addr;
  object->path = map.l_name;
  if (is_program && program_headers) {
    for (std::uint32_t i = 0; i < program_header_count; ++i)
      add_header(program_headers[i], *object);
    return object->end != 0;
  }
  Elf64_Ehdr elf;
  const auto* base = reinterpret_cast<const char*>(map.l_addr);
  if (!read_safely(base, &elf, sizeof elf) || elf.e_ident[0] != 0x7f || elf.e_ident[1] != 'E' ||
      elf.e_ident[2] != 'L' || elf.e_ident[3] != 'F' || elf.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  for (std::uint32_t i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr header;
    if (!read_safely(base + elf.e_phoff + i * sizeof header, &header, sizeof header)) return false;
    add_header(header, *object);
  }
  return object->end != 0;
}

// An unloaded object's entry may name the same map.
bool is_known(const link_map* at, const link_map& map) {
  return any_known([&](const Known& one, const link_map* its_map) {
    return its_map == at && one.object.load_bias == map.l_addr;
  });
}

Known* claim() {
  for (std::uint32_t i = 0; i < kMostKnown; ++i) {
    const link_map* free = nullptr;
    if (!known[i].map.compare_exchange_strong(free, kClaimed)) continue;
    std::uint32_t count = known_count.load();
    while (count <= i && !known_count.compare_exchange_weak(count, i + 1)) {
    }
    return &known[i];
  }
  return nullptr;
}

bool find_known(std::uint64_t address, LoadedObject* object) {
  return any_known([&](const Known& one, const link_map* map) {
    *object = one.object;
    // If another object got the slot meanwhile, the copy may mix both.
    return one.map.load(std::memory_order_acquire) == map && address >= object->begin &&
           address < object->end;
  });
}

// Adds the objects that are new in the loader's list. False: there are none.
bool learn() {
  link_map map;
  const link_map* last = last_seen.load(std::memory_order_acquire);
  if (last && read_safely(last, &map, sizeof map) && !map.l_next) return false;
  bool is_program = true, is_new = false;
  const link_map* at = _r_debug.r_map;
  for (std::uint32_t steps = 0; at && steps < kMostListed; ++steps, is_program = false) {
    if (!read_safely(at, &map, sizeof map)) return is_new;
    LoadedObject object;
    if (!is_known(at, map) && describe(map, is_program, &object)) {
      Known* slot = claim();
      if (!slot) return is_new;
      slot->object = object;
      slot->map.store(at, std::memory_order_release);
      is_new = true;
    }
    if (!map.l_next) last_seen.store(at, std::memory_order_release);
    at = map.l_next;
  }
  return is_new;
}

}  // namespace

bool find_object(std::uint64_t address, LoadedObject* object) {
  if (loader_function) return ask(address, object);
  return find_known(address, object) || (learn() && find_known(address, object));
}

void ask_loader(void* function) { loader_function = reinterpret_cast<LoaderFunction>(function); }

void describe_program(const Elf64_Phdr* headers, std::uint32_t count) {
  program_headers = headers;
  program_header_count = count;
}

void forget_unloaded_objects() {
  static constinit std::atomic<std::uint32_t> searches{0};
  if (loader_function) return;
  last_seen.store(nullptr, std::memory_order_release);
  const std::uint32_t search = searches.fetch_add(1) + 1;
  link_map map;
  const link_map* at = _r_debug.r_map;
  for (std::uint32_t steps = 0; at && steps < kMostListed; ++steps) {
    if (!read_safely(at, &map, sizeof map)) return;
    any_known([&](Known& one, const link_map* its_map) {
      if (its_map == at && one.object.load_bias == map.l_addr) one.seen = search;
      return false;
    });
    at = map.l_next;
  }
  // An object that another thread added meanwhile may go too: it will be found again.
  any_known([&](Known& one, const link_map*) {
    if (one.seen != search) one.map.store(nullptr, std::memory_order_release);
    return false;
  });
}

void keep_known_objects() { may_read.store(false, std::memory_order_relaxed); }

}  // namespace fbleprof::signal_safe
