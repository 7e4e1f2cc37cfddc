#include "capture/unknown_names.h"

#include "capture/glob.h"
#include "capture/module_choice.h"
#include "capture/modules.h"
#include "capture/profile.h"

namespace fbleprof::capture {

using format::Module;

namespace {

using Line = Text<1000>;

bool is_program() {
  const std::uint32_t pid = profile.settings.program_pid;
  return pid == 0 || pid == profile.pid;
}

// Calls function(module, path) for each module that could have been chosen.
template <typename Function>
void for_each_choice(Function function) {
  for_each_module([&](const Module& module) {
    static Path path;
    if (may_be_changed(module, path_of(module, path)) && !is_recorder(module)) {
      function(module, path.c_str());
    }
  });
}

bool is_known(const char* word, const char* end) {
  bool found = false;
  for_each_choice([&](const Module& module, const char* path) {
    found |= is_named_by(word, end, module, path);
  });
  return found;
}

void add_names_of_modules(Line& line) {
  constexpr char kMore[] = ", ...";
  const char* separator = "; there are ";
  bool has_room = true;
  for_each_choice([&](const Module&, const char* path) {
    if (!has_room) return;
    const std::size_t before = line.size();
    line.add(separator).add(name_in_path(path));
    separator = ", ";
    has_room = line.size() + sizeof kMore < Line::capacity();
    if (has_room) return;
    line.cut_to(before);
    line.add(kMore);
  });
}

}  // namespace

void remark_unknown_names() {
  const char* names = profile.settings.exact.c_str();
  if (equal(names, kAllModules) || equal(names, kProgramAndLibraries) || !is_program()) return;
  for_each_word(names, [](const char* word, const char* end) {
    if (is_known(word, end)) return;
    Line line{"--exact: no module that can be counted is named "};
    while (word != end) line.add(*word++);
    add_names_of_modules(line);
    remark(line.c_str());
  });
}

}  // namespace fbleprof::capture
