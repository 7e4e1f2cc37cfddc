#include "capture/next_environment.h"

#include <unistd.h>

#include "capture/description.h"
#include "capture/glob.h"
#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "signal_safe/peek.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

namespace {

constexpr char kPreload[] = "LD_PRELOAD";
constexpr char kAsanOptions[] = "ASAN_OPTIONS";
constexpr char kAsanChoice[] = "verify_asan_link_order=";
constexpr char kAsanOption[] = "verify_asan_link_order=0";

// Calls visit(begin, end) for each entry of the list. Like the dynamic linker, it takes colons and
// blanks for separators.
template <typename Visit>
void for_each_entry(const char* list, Visit visit) {
  const auto separates = [](char c) { return c == ':' || c == ' '; };
  while (*list) {
    const char* end = list;
    while (*end && !separates(*end)) ++end;
    if (end != list) visit(list, end);
    list = *end ? end + 1 : end;
  }
}

enum class Own { kNo, kReadable, kOutOfReach };
// Whether the entry is a library of ours, and whether the next program can read it.
Own own_library_at(const char* begin, const char* end) {
  Text<512> path;  // not Path: children of vfork may have small stacks
  for (const char* at = begin; at != end; ++at) path.add(*at);
  if (*begin != '/' || path.was_cut() || !is_own_library(path.c_str())) return Own::kNo;
  return can_access(path.c_str(), R_OK) ? Own::kReadable : Own::kOutOfReach;
}

// Asks the kernel once a page: there may be thousands of variables, which mostly lie side by side.
class Readable {
 public:
  bool is(const void* at) {
    const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(at) / kPageBytes;
    if (page == last_) return true;
    char byte;
    if (!signal_safe::peek(at, &byte, sizeof byte)) return false;
    last_ = page;
    return true;
  }

 private:
  std::uintptr_t last_ = ~std::uintptr_t{0};  // no page
};

// A shell tries one directory of PATH after the other: most of these calls fail.
bool will_fail(const char* program) {
  return name_in_path(program) != program && !can_access(program, X_OK);
}

// Counts the program in the first profile of the run, which all its processes share. The first one
// that is counted there is said on stderr. `foreign_linker`: null if the program cannot read the
// library at [begin, end).
void note_loss(const char* program, const char* foreign_linker, const char* begin,
               const char* end) {
  if (!is_profiling()) return;
  Text<1200> line{program};
  line.add(" is not recorded: ");
  if (foreign_linker) {
    line.add(foreign_linker);
  } else {
    line.add("it cannot read ");
    while (begin != end) line.add(*begin++);
    line.add("; in another root (chroot, container), put the library at the same path");
  }
  format::Header* first = profile.output.name.base_header;
  std::uint64_t lost_before = 0;
  // Somebody may have cut that file.
  if (!first || !signal_safe::peek(&first->lost_children, &lost_before, sizeof lost_before)) {
    first = signal_safe::session.arena.header();
  }
  const bool is_first = __atomic_fetch_add(&first->lost_children, 1, __ATOMIC_RELAXED) == 0;
  is_first ? remark(line.c_str()) : add_note(line.c_str());
}

}  // namespace

NextEnvironment::NextEnvironment(const NextProgram& program, char* const* environment)
    : environment_(environment) {
  if (!environment || profile.confined) return;
  Readable pointers, text;
  for (;; ++count_) {
    // Of a bad pointer the kernel tells the program.
    const char* last_byte = reinterpret_cast<const char*>(&environment[count_ + 1]) - 1;
    if (!pointers.is(&environment[count_]) || !pointers.is(last_byte)) return;
    const char* variable = environment[count_];
    if (variable == nullptr) break;
    if (!text.is(variable)) return;
    if (!preload_) preload_ = value_of(variable, kPreload);
    if (!asan_options_) asan_options_ = value_of(variable, kAsanOptions);
  }
  if (!preload_) return;
  const char *lost = nullptr, *lost_end = nullptr;
  bool has_own = false;
  for_each_entry(preload_, [&](const char* begin, const char* end) {
    const Own own = own_library_at(begin, end);
    if (own != Own::kNo) has_own = true;
    if (!lost && own == Own::kOutOfReach) lost = begin, lost_end = end;
  });
  has_lost_ = lost != nullptr;
  if (has_own && !has_lost_) next_ = look_at(program);
  // What the user set, or an exec before this one, stays.
  if (asan_options_ && contains(asan_options_, kAsanChoice)) next_.begins_with_asan = false;
  if (!has_lost_ && !next_.foreign_linker && !next_.begins_with_asan) return;
  bytes_ = (count_ + 2) * sizeof(char*) + sizeof kPreload + __builtin_strlen(preload_) + 1 +
           sizeof kAsanOptions + (asan_options_ ? __builtin_strlen(asan_options_) : 0) + 1 +
           sizeof kAsanOption;
  if (next_.begins_with_asan) return;
  if (program.name && !will_fail(program.name)) {
    note_loss(program.name, next_.foreign_linker, lost, lost_end);
  }
}

bool NextEnvironment::is_taken_out(const char* begin, const char* end) const {
  const Own own = own_library_at(begin, end);
  return own == Own::kOutOfReach || (own == Own::kReadable && next_.foreign_linker != nullptr);
}

namespace {
char* add(char* to, const char* text) {
  while (*text) *to++ = *text++;
  return to;
}
}  // namespace

// Without the libraries that are taken out. Returns `to` if none is left.
char* NextEnvironment::write_preload(char* to) const {
  char* const begin_of_variable = to;
  to = add(to, kPreload);
  char separator = '=';
  for_each_entry(preload_, [&](const char* begin, const char* end) {
    if (is_taken_out(begin, end)) return;
    *to++ = separator;
    separator = ':';
    while (begin != end) *to++ = *begin++;
  });
  if (separator == '=') return begin_of_variable;
  *to++ = 0;
  return to;
}

char* NextEnvironment::write_asan_options(char* to) const {
  to = add(to, kAsanOptions);
  *to++ = '=';
  if (asan_options_ && *asan_options_) {
    to = add(to, asan_options_);
    *to++ = ':';
  }
  to = add(to, kAsanOption);
  *to++ = 0;
  return to;
}

char* const* NextEnvironment::write(void* memory) const {
  auto** variables = static_cast<char**>(memory);
  char* const preload = static_cast<char*>(memory) + (count_ + 2) * sizeof(char*);
  char* const asan_options = write_preload(preload);
  if (next_.begins_with_asan) write_asan_options(asan_options);
  for (std::size_t i = 0; i < count_; ++i) {
    if (value_of(environment_[i], kPreload) == preload_) {
      if (asan_options != preload) *variables++ = preload;
    } else if (!next_.begins_with_asan || !value_of(environment_[i], kAsanOptions)) {
      *variables++ = environment_[i];
    }
  }
  if (next_.begins_with_asan) *variables++ = asan_options;
  *variables = nullptr;
  return static_cast<char* const*>(memory);
}

}  // namespace fbleprof::capture
