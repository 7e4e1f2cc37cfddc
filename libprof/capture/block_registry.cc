// Registers the C API's blocks: by a number that we choose, by the runtime's own number, or by a
// key.
#include "capture/api.h"
#include "capture/filters.h"
#include "signal_safe/session.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using signal_safe::session;

namespace {

constexpr std::uint32_t kMostBytes = 65535;

// Many blocks share a source file and a language; a name belongs to one block.
format::Ref text(const char* s, bool shared) {
  std::uint32_t length = 0;
  while (s && s[length] && length < kMostBytes) ++length;
  if (length == 0) return 0;
  return shared ? session.code_map.shared_string(s, length) : session.arena.add_string(s, length);
}

bool is_text(format::Ref ref, const char* s) {
  if (ref == 0) return !s || !*s;
  const auto* string = session.arena.at<format::String>(ref);
  for (std::uint32_t i = 0; i < string->length; ++i) {
    if (!s || s[i] == 0 || s[i] != string->bytes[i]) return false;
  }
  return s && (string->length == kMostBytes || s[string->length] == 0);
}

void set_left_out(format::Function& block, const char* name, const char* file) {
  constexpr std::uint16_t kFlags = format::kFunctionLeftOut | format::kFunctionNotCounted;
  if (capture::leaves_out(name, file)) __atomic_fetch_or(&block.flags, kFlags, __ATOMIC_RELAXED);
}

void describe(format::Function& block, const fbleprof_source& source) {
  block.file = text(source.file, true);
  block.line = source.line;
  block.column = source.column;
  block.language = text(source.language, true);
  set_left_out(block, source.name, source.file);
  __atomic_store_n(&block.name, text(source.name, false), __ATOMIC_RELEASE);
}

// The lower numbers are reserved for runtimes.
std::uint32_t next_number() {
  const std::uint32_t count = session.block_count.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t number = FBLEPROF_MOST_NUMBER + 1 + count;
  return number < arch::kNoBlock ? number : 0;
}

format::Ref add(std::uint32_t number, const fbleprof_source& source) {
  if (number == 0) return 0;
  const format::Ref ref = session.code_map.function_with_key(number, format::FunctionKind::kBlock);
  if (ref == 0) return 0;
  describe(*session.arena.at<format::Function>(ref), source);
  session.code_map.name_block(number, ref);
  return ref;
}

format::Function& record_of(format::Ref ref) { return *session.arena.at<format::Function>(ref); }

std::uint32_t number_of(format::Ref ref) {
  return ref != 0 ? static_cast<std::uint32_t>(record_of(ref).address) : 0;
}

bool is_key(std::uint64_t key) { return key != 0 && key >> 56 == 0; }

}  // namespace

fbleprof_block fbleprof_block_new(const char* name, const char* file, int line) {
  if (!name) return 0;
  const fbleprof_source source = {name, file, line > 0 ? static_cast<std::uint32_t>(line) : 0, 0,
                                  nullptr};
  return fbleprof_block_add(0, &source);
}

fbleprof_block fbleprof_block_add(uint32_t number, const fbleprof_source* source) {
  if (!session.arena.base() || !source || number > FBLEPROF_MOST_NUMBER) return 0;
  return number_of(add(number != 0 ? number : next_number(), *source));
}

fbleprof_block fbleprof_block_of_key(uint64_t key) {
  if (!session.arena.base() || !is_key(key)) return 0;
  return number_of(session.code_map.block_of_key(key));
}

fbleprof_block fbleprof_block_with_key(uint64_t key, const fbleprof_source* source) {
  if (!session.arena.base() || !source || !is_key(key)) return 0;
  format::Ref made = 0;
  for (;;) {
    const format::Ref before = session.code_map.block_of_key(key);
    if (before != 0) {
      // Two threads may register a function at the same time.
      const format::Function& known = record_of(before);
      if (known.line == source->line && is_text(known.name, source->name) &&
          is_text(known.file, source->file)) {
        return number_of(before);
      }
    }
    if (made == 0) made = add(next_number(), *source);
    if (made == 0) return 0;
    // A forked child finds the key here.
    format::Function& record = record_of(made);
    record.recorder_key = key;
    if (session.code_map.name_key(key, before, made)) return number_of(made);
    if (session.code_map.block_of_key(key) == before) return number_of(made);  // no memory
  }
}

int fbleprof_block_rename(fbleprof_block block, const char* name) {
  if (!session.arena.base()) return -1;
  const format::Ref ref = session.function_of_block(block);
  const format::Ref made = ref != 0 ? text(name, false) : 0;
  if (made == 0) return -1;
  __atomic_store_n(&record_of(ref).name, made, __ATOMIC_RELEASE);
  return 0;
}
