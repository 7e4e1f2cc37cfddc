// Such a module calls another libc than the recorder does, whose threads, forks and signal actions
// the recorder does not see. So its code stays as it is (is_wanted).
#include "capture/namespaces.h"

#include <link.h>

#include "capture/exact.h"
#include "capture/module_choice.h"
#include "capture/profile.h"
#include "signal_safe/loaded_objects.h"

namespace fbleprof::capture {

namespace {

// r_debug_extended of glibc 2.35, which older headers lack.
struct Namespace {
  r_debug list;
  const Namespace* next;
};

// The one after the program's own; null if there is none.
const Namespace* first_other() {
  if (_r_debug.r_version < 2) return nullptr;
  // A program may have a copy of the first part.
  signal_safe::LoadedObject object;
  if (!signal_safe::find_object(reinterpret_cast<std::uint64_t>(&_r_debug), &object) ||
      object.begin != _r_debug.r_ldbase) {
    return nullptr;
  }
  const Namespace* own;
  __asm__("" : "=r"(own) : "0"(&_r_debug));  // the compiler knows the length of the first part
  return own->next;
}

// Whether nothing was said of this path yet. Programs may load a library thousands of times.
bool is_news(const char* path) {
  constexpr std::uint32_t kMost = 256;
  static std::uint64_t told[kMost];
  static std::uint32_t count = 0;
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char* at = path; *at; ++at) {
    hash = (hash ^ static_cast<unsigned char>(*at)) * 0x100000001b3u;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    if (told[i] == hash) return false;
  }
  if (count < kMost) told[count++] = hash;
  return true;
}

bool would_be_chosen(const char* path) {
  const Settings& settings = profile.settings;
  return is_chosen({settings.exact.c_str(), settings.exact_except.c_str()}, format::Module{}, path);
}

}  // namespace

void remark_other_namespaces() {
  for (const Namespace* at = first_other(); at; at = at->next) {
    if (at->list.r_state != r_debug::RT_CONSISTENT) continue;
    for (const link_map* map = at->list.r_map; map; map = map->l_next) {
      if (would_be_chosen(map->l_name) && is_news(map->l_name)) {
        remark_not_counted(map->l_name, "it is in a link namespace of its own (dlmopen)");
      }
    }
  }
}

}  // namespace fbleprof::capture
