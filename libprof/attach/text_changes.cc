// A thread may stand between the instructions that a jump is to replace. Two things tell: its pc
// (in a system call also that of the call's instruction), and the pc in the frame of a signal that
// interrupted it there. No return address can: a call is only ever the last of the replaced
// instructions. Signal frames are not searched for as such: each word of the threads' stacks that
// points between replaced instructions counts.
#include "attach/text_changes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

#include "attach/borrowed_thread.h"
#include "attach/loaded_file.h"
#include "attach/memory.h"
#include "attach/own_library.h"
#include "attach/own_stack.h"
#include "base/fd.h"

namespace fbleprof::attach {

using format::kTextChangeBytes;
using format::TextChange;
using format::TextChanges;
using format::TextState;

namespace {

using Bytes = std::uint8_t[kTextChangeBytes];

const Bytes& bytes_of(const TextChange& change, Text which) {
  return which == Text::kOriginal ? change.original : change.changed;
}

// Writes also where the process itself may not.
Fd open_memory(pid_t pid) {
  return Fd(open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC));
}

Text other(Text text) { return text == Text::kOriginal ? Text::kChanged : Text::kOriginal; }

// Changes on one page, which are read and written together: all threads wait meanwhile.
using Piece = std::vector<const TextChange*>;

std::vector<Piece> pieces_of(const ModuleChanges& module, Text wanted) {
  constexpr std::uint64_t kPage = 4096;
  Piece all;
  for (const TextChange& each : module.changes) {
    if (wanted == Text::kOriginal || each.is_kept_out == 0) all.push_back(&each);
  }
  std::sort(all.begin(), all.end(),
            [](const TextChange* a, const TextChange* b) { return a->address < b->address; });
  std::vector<Piece> pieces;
  for (const TextChange* each : all) {
    if (pieces.empty() || pieces.back().front()->address / kPage != each->address / kPage) {
      pieces.emplace_back();
    }
    pieces.back().push_back(each);
  }
  return pieces;
}

// Returns how many changes were made; nothing if the system refuses. What cannot be read is no
// longer there.
std::optional<std::size_t> write_piece(const Fd& memory, const Piece& piece, Text wanted) {
  const std::uint64_t begin = piece.front()->address;
  std::vector<std::uint8_t> bytes(piece.back()->address + kTextChangeBytes - begin);
  if (!memory.read_at(begin, bytes.data(), bytes.size())) return 0;
  std::size_t made = 0;
  for (const TextChange* each : piece) {
    std::uint8_t* at = bytes.data() + (each->address - begin);
    if (std::memcmp(at, bytes_of(*each, other(wanted)), kTextChangeBytes) != 0) continue;
    std::memcpy(at, bytes_of(*each, wanted), kTextChangeBytes);
    ++made;
  }
  if (made != 0 && !memory.write_at(begin, bytes.data(), bytes.size())) return std::nullopt;
  return made;
}

// The entries of all modules, by address.
class Entries {
 public:
  explicit Entries(std::vector<ModuleChanges>& modules) {
    for (ModuleChanges& module : modules) {
      for (TextChange& change : module.changes) {
        if (change.is_entry) entries_.push_back(&change);
      }
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const TextChange* a, const TextChange* b) { return a->address < b->address; });
  }

  // The entry that has the address among its bytes, but not at their begin; null if none has.
  TextChange* around(std::uint64_t address) const {
    if (entries_.empty() || address <= entries_.front()->address) return nullptr;
    if (address >= entries_.back()->address + kTextChangeBytes) return nullptr;
    const auto next = std::lower_bound(
        entries_.begin(), entries_.end(), address,
        [](const TextChange* entry, std::uint64_t value) { return entry->address < value; });
    TextChange* entry = *(next - 1);
    return address < entry->address + kTextChangeBytes ? entry : nullptr;
  }

 private:
  std::vector<TextChange*> entries_;
};

struct Span {
  std::uint64_t begin, end;
};

// Where signal frames of the thread may be: the used part of the stack that it runs on and, if that
// is another one (of a signal, of a coroutine), all of its own. Of those whose used part is not
// known, kMost bytes: they may be a small part of a large mapping.
std::vector<Span> stacks_of(pid_t pid, const Tracee& thread, const std::vector<Mapping>& mappings) {
  constexpr std::uint64_t kMost = 16 << 20;
  const std::uint64_t sp = arch::sp_of(thread.registers()) - arch::kRedZoneBytes;
  const Mapping* own = stack_started_with(pid, thread, mappings);
  const Mapping* current = mapping_at(mappings, sp);
  std::vector<Span> stacks;
  const bool is_own = own && own == current;
  if (current) stacks.push_back({sp, is_own ? current->end : std::min(current->end, sp + kMost)});
  if (own && !is_own) {
    stacks.push_back({std::max(own->begin, own->end - std::min(own->end, kMost)), own->end});
  }
  return stacks;
}

// The entries that the thread occupies.
std::set<TextChange*> occupied_by(const Tracee& thread, const std::vector<Span>& stacks,
                                  const Fd& memory, const Entries& entries) {
  std::set<TextChange*> occupied;
  const auto look_at = [&](std::uint64_t word) {
    if (TextChange* entry = entries.around(word)) occupied.insert(entry);
  };
  look_at(arch::pc_of(thread.registers()));
  look_at(arch::pc_of_restart(thread.registers()));
  constexpr std::uint64_t kAtOnce = 1 << 16;
  std::vector<std::uint64_t> words(kAtOnce / sizeof(std::uint64_t));
  for (const Span& stack : stacks) {
    for (std::uint64_t at = stack.begin / 8 * 8; at < stack.end; at += kAtOnce) {
      const std::uint64_t bytes = std::min(kAtOnce, stack.end - at) / 8 * 8;
      if (!memory.read_at(at, words.data(), bytes)) continue;
      std::for_each_n(words.begin(), bytes / 8, look_at);
    }
  }
  return occupied;
}

// Notes in the process which entries are kept out.
void tell_kept_out(const Fd& memory, const ModuleChanges& module) {
  for (std::size_t i = 0; i < module.changes.size(); ++i) {
    const std::uint64_t at = module.address + sizeof(TextChanges) + i * sizeof(TextChange) +
                             offsetof(TextChange, is_kept_out);
    memory.write_at(at, &module.changes[i].is_kept_out, 1);
  }
}

}  // namespace

namespace {

// Where the recorder's state is in the process; 0: it has none.
std::uint64_t place_of_state(pid_t pid, const std::string& library) {
  std::uint64_t at = find_in_library(pid, library, "fbleprof_text_state");
  return at != 0 && read_memory(pid, at, &at, sizeof at) ? at : 0;
}

bool write_counting(pid_t pid, std::uint64_t state, std::uint32_t is_counting) {
  const Fd memory = open_memory(pid);
  return memory.write_at(state + offsetof(TextState, is_counting), &is_counting,
                         sizeof is_counting);
}

}  // namespace

Result<HeldChanges> HeldChanges::hold(pid_t pid, const std::string& library) {
  constexpr int kTries = 2000;
  const std::uint64_t at = place_of_state(pid, library);
  TextState state{};
  if (at == 0) return HeldChanges(pid, 0, false);
  if (!read_memory(pid, at, &state, sizeof state)) return unreadable_memory(pid);
  HeldChanges held(pid, at, state.is_counting != 0);
  if (!write_counting(pid, at, 0)) return unwritable_memory(pid);
  for (int i = 0; i < kTries; ++i) {
    if (!read_memory(pid, at, &state, sizeof state)) return unreadable_memory(pid);
    if (state.is_changing == 0) return held;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return error_of(pid, "it is loading a library", "try again");
}

HeldChanges::HeldChanges(HeldChanges&& from) noexcept
    : pid_(from.pid_), state_(from.state_), is_counting_(from.is_counting_) {
  from.state_ = 0;
}

HeldChanges::~HeldChanges() {
  if (state_ != 0 && is_counting_) write_counting(pid_, state_, 1);
}

std::vector<ModuleChanges> read_changes(pid_t pid, const std::string& library) {
  // The process may have written anything there.
  constexpr std::uint32_t kMost = 1 << 22, kMostModules = 1 << 14;
  std::vector<ModuleChanges> modules;
  TextState state{};
  std::uint64_t at = place_of_state(pid, library);
  if (at == 0 || !read_memory(pid, at, &state, sizeof state)) return {};
  at = state.lists;
  while (at != 0) {
    if (modules.size() == kMostModules) return {};
    ModuleChanges module;
    module.address = at;
    if (!read_memory(pid, at, &module.head, sizeof module.head) || module.head.count > kMost) {
      return {};
    }
    module.changes.resize(module.head.count);
    if (!module.changes.empty() && !read_memory(pid, at + sizeof module.head, module.changes.data(),
                                                module.changes.size() * sizeof(TextChange))) {
      return {};
    }
    at = module.head.next;
    modules.push_back(std::move(module));
  }
  return modules;
}

Result<std::size_t> write_text(pid_t pid, const ModuleChanges& module, Text wanted) {
  const Fd memory = open_memory(pid);
  const std::vector<Piece> pieces = pieces_of(module, wanted);
  std::size_t places = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto written = write_piece(memory, pieces[i], wanted);
    if (!written) {
      const int error = errno;
      while (i-- > 0) (void)write_piece(memory, pieces[i], other(wanted));
      return system_error_of(pid, "its code cannot be changed", error);
    }
    places += *written;
  }
  return places;
}

ModuleChanges made_changes(pid_t pid, const ModuleChanges& module) {
  const Fd memory = open_memory(pid);
  ModuleChanges made{module.address, module.head, {}};
  std::copy_if(module.changes.begin(), module.changes.end(), std::back_inserter(made.changes),
               [&memory](const TextChange& change) {
                 Bytes now;
                 return memory.read_at(change.address, now, sizeof now) &&
                        std::memcmp(now, change.changed, sizeof now) == 0;
               });
  return made;
}

Result<std::size_t> keep_occupied_out(pid_t pid, StoppedProcess& process,
                                      std::vector<ModuleChanges>& modules) {
  constexpr int kTries = 16;
  const Fd memory = open_memory(pid);
  const Entries entries(modules);
  std::set<TextChange*> all;
  for (int i = 0; i < kTries; ++i) {
    if (const Status bad = process.stop()) return *bad;
    all.clear();
    std::set<pid_t> threads;
    const std::vector<Mapping> mappings = mappings_of(pid);
    for (const Tracee& each : process.threads()) {
      const auto occupied = occupied_by(each, stacks_of(pid, each, mappings), memory, entries);
      if (!occupied.empty()) threads.insert(each.tid());
      all.insert(occupied.begin(), occupied.end());
    }
    if (all.empty() || i + 1 == kTries) break;
    process.let_go([&](const Tracee& each) { return threads.count(each.tid()) != 0; });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (ModuleChanges& module : modules) {
    bool was_kept_out = false;
    for (TextChange& change : module.changes) {
      was_kept_out |= change.is_kept_out != 0;
      change.is_kept_out = all.count(&change) != 0;
    }
    if (was_kept_out || !all.empty()) tell_kept_out(memory, module);
  }
  return all.size();
}

}  // namespace fbleprof::attach
