#include "capture/perf_map.h"

#include "capture/runtime_file.h"
#include "capture/text.h"
#include "signal_safe/generated_code.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using signal_safe::session;

namespace {

// Takes a number in hexadecimal and the blank behind it.
bool take_number(const char** at, const char* end, std::uint64_t* number) {
  const char* c = *at;
  if (end - c > 2 && c[0] == '0' && c[1] == 'x') c += 2;
  const char* first = c;
  *number = 0;
  for (; c < end && hex_digit(*c) >= 0; ++c) {
    *number = *number << 4 | static_cast<std::uint64_t>(hex_digit(*c));
  }
  if (c == first || c - first > 16 || c == end || *c != ' ') return false;
  *at = c + 1;
  return true;
}

}  // namespace

void name_by_perf_map(GeneratedFunctions& functions) {
  if (functions.is_empty()) return;
  char path[signal_safe::kMapPathBytes];
  signal_safe::write_map_path(path);
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file || !is_of_this_process(file)) return;
  auto* buffer = static_cast<char*>(session.pages.take(kLineBufferBytes));
  if (buffer == nullptr) return;
  Lines lines(file, buffer);
  for (Line line; lines.next(&line);) {
    const char* at = line.text;
    const char* end = line.text + line.bytes;
    std::uint64_t begin, bytes;
    if (!take_number(&at, end, &begin) || !take_number(&at, end, &bytes)) continue;
    const auto name_at = line.offset + static_cast<std::uint64_t>(at - line.text);
    functions.offer(begin, bytes, line.offset, name_at, static_cast<std::uint32_t>(end - at));
  }
  session.pages.give_back(buffer, kLineBufferBytes);
  functions.take_names([&](std::uint64_t at, char* name, std::uint32_t bytes) {
    const long got = file.read(at, name, bytes);
    return got > 0 ? static_cast<std::uint32_t>(got) : 0;
  });
}

}  // namespace fbleprof::capture
