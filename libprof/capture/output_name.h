// Which name a profile gets, without harm to what is there.
//
//  - The template's %p %e %h %t %r %% are expanded.
//  - A profile that a live process writes is not touched: the new one gets .PID after its name.
//    So do children, up to kMostChildren of them; more are counted only, in the first one's header.
//    A profile of the last run becomes .old, in the place of an older profile. One of this run does
//    not, though its process has ended: what a shell starts in the background may outlive it.
//  - Anything at the path that is not a plain file of ours alone, or not a profile, is refused; so
//    is anything but a profile at .old.
//
// Several processes may look for a name at once. A file is made without a name and complete, header
// and all, and gets the name in one step that fails if the name is taken: nobody meets half a file,
// whenever its maker is killed. Who moves an old profile away has it locked, and looks again
// whether the name is still its own. The program has no business with either file, so it sees no
// lock.
#pragma once

#include <cstdint>

#include "capture/kernel_file.h"
#include "capture/options.h"
#include "capture/text.h"
#include "format/format.h"

namespace fbleprof::capture {

// Programs may start any number of processes; files are bounded.
inline constexpr std::uint64_t kMostChildren = 1000;

// Which file a path named: by this it is known again.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;  // 0: none

  static FileIdentity of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
  bool is(const struct stat& status) const {
    return inode != 0 && device == status.st_dev && inode == status.st_ino;
  }
};

struct OutputName {
  Path path;                     // absolute
  Path base_path;                // what children's files are named after: the first one's
  FileIdentity base;             // the file at base_path, if it is another one
  bool is_secondary = false;     // named after another profile: a child's, or its name was taken
  bool names_process = false;    // the template holds the process's number: no name after another's
  bool loss_is_counted = false;  // there is none for there are too many: the first one says so
  Text<512> failure;             // why there is no profile
};

// The template with its places filled.
void expand_template(const Settings& settings, OutputName& name);

// A new file in the directory of `path` that has no name yet, or one that nobody looks at.
struct Draft {
  File file;
  Path temporary;  // its name till then; empty: none
};
Draft make_draft(const Path& path);
void drop(Draft& draft);

// Gives the draft a name: name.path, or one after it. False, with a reason, if there is none to be
// had. `is_child`: this process was forked from a profiled one, whose base is `name.base`.
bool settle_name(OutputName& name, Draft& draft, std::uint64_t run_start_ns, bool is_child);

// One child's file less beside the first one.
void uncount_child(const OutputName& name);

}  // namespace fbleprof::capture
