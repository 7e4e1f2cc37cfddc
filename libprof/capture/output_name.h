// Chooses the name of a profile without harming existing files.
//
//  - It expands the template's %p %e %h %t %r %%.
//  - It does not touch a profile that a live process writes: the new one gets .PID after its name.
//    Children's profiles get the same, up to kMostChildren of them; further ones are only counted,
//    in the header of the first profile. A profile of the previous run becomes .old, in place of an
//    older profile. A profile of this run does not, even if its process has ended: a shell's
//    background jobs may outlive the shell.
//  - It refuses the path if that names anything but a profile in a plain file that belongs to this
//    user alone; it also refuses .old if that names anything but a profile.
//
// Several processes may look for a name at once. So a process completes its file without a name,
// header included, and then names it in one step that fails if the name is taken. Nobody sees half
// a file, whenever its maker is killed. A process that moves an old profile away holds a lock on it
// and checks again that the name still leads to it. The program uses neither file, so it never
// meets the lock.
#pragma once

#include <cstdint>

#include "capture/kernel_file.h"
#include "capture/options.h"
#include "capture/text.h"
#include "format/format.h"

namespace fbleprof::capture {

// Programs may start any number of processes; the number of files is limited.
inline constexpr std::uint64_t kMostChildren = 1000;

// The identity of the file that a path named.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;  // 0: none

  static FileIdentity of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
  bool is(const struct stat& status) const {
    return inode != 0 && device == status.st_dev && inode == status.st_ino;
  }
};

struct OutputName {
  Path path;          // absolute
  Path base_path;     // the first profile's; children's files are named after it
  FileIdentity base;  // the file at base_path, if that is a different file
  format::Header* base_header = nullptr;  // of that file, mapped for good; null: none, or not ours
  bool is_secondary = false;     // named after another profile: of a child, or the name was taken
  bool names_process = false;    // the template has %p: not named after another profile
  bool loss_is_counted = false;  // no profile, too many files; the first one counts the loss
  Text<512> failure;             // why there is no profile
};

// Expands the template.
void expand_template(const Settings& settings, OutputName& name);

// A new file in the directory of `path`, without a name, or with a name that nobody looks for.
struct Draft {
  File file;
  Path temporary;  // its temporary name; empty: none
};
Draft make_draft(const Path& path);
void drop(Draft& draft);

// Gives the draft a name: name.path, or a variant of it. False, with a reason, if no name is
// available. `is_child`: this process was forked from a profiled one, whose base is `name.base`.
bool settle_name(OutputName& name, Draft& draft, std::uint64_t run_start_ns, bool is_child);

// The first profile's header where it is mapped at this moment, for name.base_header or to count a
// child: another process may truncate that file. Null: nowhere. Async-signal-safe.
format::Header* mapped_base_header();

// Takes one child's file off the count in the first profile's header.
void uncount_child(const OutputName& name);

}  // namespace fbleprof::capture
