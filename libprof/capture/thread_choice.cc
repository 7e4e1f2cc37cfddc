#include "capture/thread_choice.h"

#include "capture/glob.h"

namespace fbleprof::capture {

bool keeps_thread(const char* filter, const char* name) {
  constexpr char kSeparator = ';';
  bool is_kept = *filter == 0 || *filter == '!';
  for (const char* at = filter; *at;) {
    const bool is_not = *at == '!';
    if (glob_match(at + (is_not ? 1 : 0), kSeparator, name)) is_kept = !is_not;
    while (*at && *at != kSeparator) ++at;
    if (*at) ++at;
  }
  return is_kept;
}

}  // namespace fbleprof::capture
