#include "report/cli/window.h"

#include "profile/reader.h"
#include "transform/mark.h"

namespace fbleprof::report {

using profile::Profile;

namespace {

constexpr char kMark[] = "mark";

std::uint64_t duration_of(const Profile& profile) {
  return profile.processes().size() == 1 ? profile.processes()[0].duration_ns : 0;
}

// What was added since the file was copied to `mark`, until `now`.
Result<Profile> since_mark(const Profile& now, const std::string& file, const std::string& mark) {
  const auto then = profile::read_file(mark);
  if (!then) return then.error();
  if (duration_of(now) < duration_of(then->profile)) {
    return Error{file, std::nullopt, "the window ends before its mark", "choose a later end"};
  }
  const auto marked = transform::with_mark(now, then->profile, kMark);
  if (!marked) {
    return Error{file, std::nullopt, "another run than the one that was marked", "mark it again"};
  }
  return transform::window(*marked, {.from = 0, .to = std::nullopt});
}

}  // namespace

bool has_window(const Options& options) {
  return !options.window.is_whole() || !options.marks.empty();
}

Result<Profile> cut_window(Profile profile, const Options& options) {
  if (!has_window(options)) return profile;
  const std::string file(profile.processes().empty() ? ""
                                                     : profile.text(profile.processes()[0].file));
  if (const auto mark = options.marks.find(file); mark != options.marks.end()) {
    // Its snapshots are dropped with the mark, so the end comes first.
    const auto end = transform::find_window(profile, {"", options.window.to});
    if (!end) return end.error();
    return since_mark(transform::window(profile, *end), file, mark->second);
  }
  const auto window = transform::find_window(profile, options.window);
  if (!window) return window.error();
  return transform::window(profile, *window);
}

Options with_base_window(Options options) {
  options.window = options.base_window;
  options.marks.clear();
  return options;
}

}  // namespace fbleprof::report
