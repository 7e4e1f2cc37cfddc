#include "capture/profiles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <atomic>
#include <new>

#include "arch/kernel.h"
#include "capture/own_memory.h"
#include "capture/signals.h"
#include "capture/threads.h"
#include "format/references.h"
#include "format/site.h"
#include "signal_safe/entries.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/profile_switch.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using arch::kernel_call;
using arch::kernel_failed;
using signal_safe::CallTree;
using signal_safe::session;
using signal_safe::ThreadState;

// A thread's tree in a profile. When a thread takes over the memory of one that ended, it also
// takes over the trees.
struct ProfileTree {
  ThreadState* thread;
  CallTree tree;
  format::Thread* record;
  ProfileTree* next;
  signal_safe::LinkTable::Item first_links[signal_safe::LinkTable::kFirstItems];
};

struct fbleprof_profile {
  fbleprof_profile* next_all;
  format::Ref labels;  // LabelSet of its trees
  format::Label* label;
  std::uint64_t made_for;  // identifies the file: a forked child has another one
  std::atomic<ProfileTree*> trees;
  std::atomic<bool> is_free;
};

namespace {

std::atomic<fbleprof_profile*> newest_profile{nullptr};

format::Ref text(const char* s) {
  std::uint32_t length = 0;
  while (s && s[length] && length < 65535) ++length;
  return length != 0 ? session.arena.add_string(s, length) : 0;
}

// A free profile of this process; it keeps its trees, with all counts 0.
fbleprof_profile* take_free() {
  for (auto* profile = newest_profile.load(std::memory_order_acquire); profile;
       profile = profile->next_all) {
    bool is_free = true;
    if (profile->made_for == session.this_file() &&
        profile->is_free.compare_exchange_strong(is_free, false)) {
      return profile;
    }
  }
  return nullptr;
}

fbleprof_profile* make_profile() {
  void* memory = capture::take_memory(sizeof(fbleprof_profile), capture::InChild::kCopied);
  const format::Ref set = session.arena.allocate(sizeof(format::LabelSet));
  const format::Ref label = session.arena.allocate(sizeof(format::Label));
  if (!memory || set == 0 || label == 0) return nullptr;
  auto* profile = new (memory) fbleprof_profile{};
  profile->labels = set;
  profile->label = session.arena.at<format::Label>(label);
  profile->label->key = text("profile");
  profile->label->set = set;
  profile->made_for = session.this_file();
  session.arena.publish(set, format::Kind::kLabelSet);
  return profile;
}

// The thread's tree in a profile, made at its first use; null if there is no space.
ProfileTree* tree_of(fbleprof_profile& profile, ThreadState& thread) {
  for (auto* tree = profile.trees.load(std::memory_order_acquire); tree; tree = tree->next) {
    if (tree->thread == &thread) return tree;
  }
  void* memory = capture::take_memory(sizeof(ProfileTree), capture::InChild::kCopied);
  const format::Ref record = session.arena.allocate(sizeof(format::Thread));
  if (!memory || record == 0) return nullptr;
  auto* made = new (memory) ProfileTree{};
  made->thread = &thread;
  if (!made->tree.start(session.trees, record, profile.labels, made->first_links)) return nullptr;
  made->record = session.arena.at<format::Thread>(record);
  made->record->start_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
  made->record->threads_served = 1;
  session.arena.publish(record, format::Kind::kThread);
  made->next = profile.trees.load(std::memory_order_relaxed);
  while (!profile.trees.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return made;
}

// Where the thread keeps the tree of a profile while it records into another one.
CallTree* kept_tree(ThreadState& thread, void* profile, format::Thread** record) {
  for (std::uint32_t i = thread.profiles; i-- > 0;) {
    signal_safe::ProfileFrame& frame = thread.profile_frames[i];
    if (frame.profile != profile) continue;
    *record = frame.record;
    return &frame.tree;
  }
  if (!profile) return nullptr;
  ProfileTree* tree = tree_of(*static_cast<fbleprof_profile*>(profile), thread);
  if (!tree) return nullptr;
  *record = tree->record;
  return &tree->tree;
}

void note_thread(ThreadState& thread) {
  thread.record->tid = thread.tid;
  thread.record->end_ns = signal_safe::monotonic_ns() - session.start_monotonic_ns;
  if (!capture::may_samples_come()) return;  // no system calls
  kernel_call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(thread.record->name));
}

// Calls visit(ref) for the trees of a profile in `arena`; null: the process's own.
template <typename Visit>
void for_each_tree(const signal_safe::Arena& arena, const fbleprof_profile* profile, Visit visit) {
  arena.for_each(format::Kind::kTree, [&](format::Ref ref) {
    const format::Ref labels = arena.at<format::Tree>(ref)->labels;
    if (profile ? labels == profile->labels : capture::profile_name(labels) == 0) visit(ref);
    return true;
  });
}

}  // namespace

namespace fbleprof::capture {
format::Ref profile_name(format::Ref labels) {
  if (labels == 0) return 0;
  for (auto* profile = newest_profile.load(std::memory_order_acquire); profile;
       profile = profile->next_all) {
    if (profile->made_for == session.this_file() && profile->labels == labels)
      return profile->label->value;
  }
  return 0;
}
}  // namespace fbleprof::capture

fbleprof_profile* fbleprof_profile_new(const char* name) {
  if (!session.arena.base() || !fbleprof_hot.top) return nullptr;
  const format::Ref value = text(name && *name ? name : "unnamed");
  if (value == 0) return nullptr;
  if (fbleprof_profile* profile = take_free()) {
    __atomic_store_n(&profile->label->value, value, __ATOMIC_RELEASE);
    return profile;
  }
  fbleprof_profile* profile = make_profile();
  if (!profile) return nullptr;
  profile->label->value = value;
  session.arena.publish(session.arena.ref_of(profile->label), format::Kind::kLabel);
  profile->next_all = newest_profile.load(std::memory_order_relaxed);
  while (!newest_profile.compare_exchange_weak(profile->next_all, profile,
                                               std::memory_order_acq_rel)) {
  }
  return profile;
}

fbleprof_profile* fbleprof_profile_with(fbleprof_profile* profile) {
  if (!fbleprof_hot.top || !signal_safe::is_own(*fbleprof_hot.self)) return nullptr;
  ThreadState& thread = *fbleprof_hot.self;
  const signal_safe::HookState at = FBLEPROF_RETURN_STATE;
  // The time up to here belongs to the profile before.
  capture::charge_rest_of_this_thread();
  signal_safe::BusyGuard guard(thread);
  auto* before = static_cast<fbleprof_profile*>(thread.profile);
  if (!guard || profile == before) return before;
  if (profile && (profile->made_for != session.this_file() || profile->is_free.load()))
    return before;
  signal_safe::Entry* caller = signal_safe::caller_of_api(thread, FBLEPROF_OWN_FRAME, at);
  // The caller may have left, without going back, a function that switched profiles.
  before = static_cast<fbleprof_profile*>(thread.profile);
  if (profile == before) return before;
  const std::uint32_t nested = thread.profiles;
  if (nested != 0 && thread.profile_frames[nested - 1].profile == profile &&
      thread.profile_frames[nested - 1].stack == thread.current) {
    note_thread(thread);
    signal_safe::end_profile(thread, caller);
    return before;
  }
  format::Thread* record = nullptr;
  CallTree* tree = kept_tree(thread, profile, &record);
  if (tree && signal_safe::begin_profile(guard, thread, caller, profile, tree, record)) {
    note_thread(thread);
  }
  return before;
}

namespace {

// A copy of the file in memory, in which all data of other profiles is made private.
class Copy {
 public:
  explicit Copy(const fbleprof_profile* profile)
      : bytes_(session.arena.used_bytes()),
        base_(kernel_call(SYS_mmap, 0, static_cast<long>(bytes_), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (kernel_failed(base_)) return;
    __builtin_memcpy(reinterpret_cast<void*>(base_), session.arena.base(), bytes_);
    copy_.adopt(reinterpret_cast<char*>(base_), bytes_, bytes_);
    header().used_bytes = bytes_;
    finish_records();
    drop_newer();
    clear_marks();
    // Not those of the program's own file, where threads have trees that are not in the copy.
    for_each_tree(copy_, profile, [this](format::Ref ref) { keep(ref); });
    for (const auto kind : {format::Kind::kTree, format::Kind::kThread, format::Kind::kNodes,
                            format::Kind::kEdges, format::Kind::kValues}) {
      copy_.for_each(kind,
                     [&](format::Ref ref) { return is_kept(kind, ref) ? true : leave_out(ref); });
    }
    header().generation = 0;
    header().state = format::State::kEnded;
    header().end_code = 0;
    count();
  }
  ~Copy() {
    if (!kernel_failed(base_)) kernel_call(SYS_munmap, base_, static_cast<long>(bytes_));
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  // 0 or an errno.
  int write_to(const char* path) const {
    if (kernel_failed(base_)) return static_cast<int>(-base_);
    const long file = kernel_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (kernel_failed(file)) return static_cast<int>(-file);
    long result = 0;
    for (std::uint64_t done = 0; done < bytes_;) {
      result = kernel_call(SYS_write, file, base_ + static_cast<long>(done),
                           static_cast<long>(bytes_ - done));
      if (result == -EINTR) continue;
      if (kernel_failed(result)) break;
      done += static_cast<std::uint64_t>(result);
      result = 0;
    }
    const long closed = kernel_call(SYS_close, file);
    if (result == 0 && kernel_failed(closed)) result = closed;
    return static_cast<int>(-result);
  }

 private:
  // Other threads continue while the file is copied. A record that was not finished then may be
  // needed by one that was copied later.
  void finish_records() {
    const format::Ref end = units();
    for (format::Ref ref = format::kHeaderBytes / format::kUnitBytes; ref < end;) {
      const auto* live = session.arena.at<format::Head>(ref);
      const std::uint32_t units = live->mark == format::kHeadMark ? live->units : 0;
      if (units > end - ref) return;
      if (units != 0) {
        head(ref).units = units;
        head(ref).mark = format::kHeadMark;
      }
      if (units != 0 && head(ref).kind == format::Kind::kUnfinished &&
          __atomic_load_n(&live->kind, __ATOMIC_ACQUIRE) != format::Kind::kUnfinished) {
        __builtin_memcpy(&head(ref), live, std::uint64_t{units} * format::kUnitBytes);
      }
      ref += units != 0 ? units : 1;
    }
  }
  // What leads to something newer than the copy is newer, too. A record that is older can lead
  // there as well: its field was written again, or what it names was made after it.
  void drop_newer() {
#define FBLEPROF_CHECK(field, to) \
  if (!has(header().field, format::Kind::to)) header().field = 0;
    FBLEPROF_HEADER_REFERENCES(FBLEPROF_CHECK)
#undef FBLEPROF_CHECK
    // A written file contains no snapshot.
    for (const auto kind :
         {format::Kind::kSnapshot, format::Kind::kSnapshotNodes, format::Kind::kSnapshotEdges}) {
      copy_.for_each(kind, [this](format::Ref ref) { return leave_out(ref); });
    }
    for (const format::Reference& reference : format::kRecordReferences) {
      copy_.for_each(reference.of, [&](format::Ref ref) {
        auto* field = reinterpret_cast<format::Ref*>(copy_.at<char>(ref) + reference.offset);
        if (*field == 0 || has(*field, reference.to)) return true;
        if (reference.lacking == format::Lacking::kRecord) return leave_out(ref);
        *field = 0;
        return true;
      });
    }
    // A parent comes before its children. The chunks of a tree are made one after the other, so a
    // node's row is finished if it is in the copy at all.
    for_each_item<format::Node>(format::Kind::kNodes, [this](format::Node& node) {
      if (!has(node.function, format::Kind::kFunction) ||
          (node.parent != 0 && !has_node(node.parent))) {
        node.function = 0;
      }
      if (node.values >= units()) node.values = 0;
      drop_newer_place(node.site);
    });
    for_each_item<format::Edge>(format::Kind::kEdges, [this](format::Edge& edge) {
      // The function is that of `to`.
      if (!has_node(edge.from) || !has_node(edge.to)) edge.to = 0;
      drop_newer_place(edge.site);
    });
  }
  // The name of the file in which a site is.
  void drop_newer_place(std::uint64_t& site) const {
    constexpr std::uint64_t kLine = (std::uint64_t{1} << format::kPlaceLineBits) - 1;
    if ((site & format::kSiteIsPlace) == 0) return;
    const auto file =
        static_cast<format::Ref>((site & ~format::kSiteIsPlace) >> format::kPlaceLineBits);
    if (!has(file, format::Kind::kString)) site &= format::kSiteIsPlace | kLine;
  }
  bool leave_out(format::Ref ref) {
    head(ref).kind = format::Kind::kPrivate;
    return true;
  }
  bool has(format::Ref ref, format::Kind kind) const {
    if (kind == format::Kind::kNodes) return has_node(ref);
    return ref != 0 && ref < units() && copy_.at<format::Head>(ref)->kind == kind;
  }
  bool has_node(format::Ref ref) const {
    return ref != 0 && ref < units() && copy_.at<format::Node>(ref)->function != 0;
  }
  // Calls visit(item) for each place of an item.
  template <typename Item, typename Visit>
  void for_each_item(format::Kind kind, Visit visit) {
    constexpr format::Ref kUnits = sizeof(Item) / format::kUnitBytes;
    copy_.for_each(kind, [&](format::Ref chunk) {
      const format::Ref end = chunk + head(chunk).units;
      for (format::Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end;
           ref += kUnits) {
        visit(*copy_.at<Item>(ref));
      }
      return true;
    });
  }
  format::Ref units() const { return static_cast<format::Ref>(bytes_ / format::kUnitBytes); }

  // Mark the records of the trees to keep, in the copy: nobody reads `reserved` of a tree, and a
  // written file contains no open wait.
  void keep(format::Ref tree) {
    auto* record = copy_.at<format::Tree>(tree);
    record->reserved[0] = 1;
    copy_.at<format::Thread>(record->thread)->wait_context = 1;
  }
  void clear_marks() {
    copy_.for_each(format::Kind::kTree, [this](format::Ref ref) {
      copy_.at<format::Tree>(ref)->reserved[0] = 0;
      return true;
    });
    copy_.for_each(format::Kind::kThread, [this](format::Ref ref) {
      copy_.at<format::Thread>(ref)->wait_context = 0;
      return true;
    });
  }
  bool is_kept(format::Kind kind, format::Ref ref) const {
    switch (kind) {
      case format::Kind::kTree:
        return copy_.at<format::Tree>(ref)->reserved[0] != 0;
      case format::Kind::kThread:
        return copy_.at<format::Thread>(ref)->wait_context != 0;
      case format::Kind::kNodes:
      case format::Kind::kEdges:
      case format::Kind::kValues:
        return copy_.at<format::Tree>(copy_.at<format::Nodes>(ref)->tree)->reserved[0] != 0;
      default:
        return false;
    }
  }
  format::Head& head(format::Ref ref) { return *copy_.at<format::Head>(ref); }
  format::Header& header() { return *copy_.header(); }

  void count() {
    header().node_count = header().edge_count = 0;
    // Other threads continued while the file was copied: set their clocks to the charged time.
    copy_.for_each(format::Kind::kThread, [this](format::Ref ref) {
      auto* thread = copy_.at<format::Thread>(ref);
      thread->cpu_ns = thread->wall_ns = thread->samples = 0;
      return true;
    });
    copy_.for_each(format::Kind::kNodes, [this](format::Ref chunk) {
      const auto* tree = copy_.at<format::Tree>(copy_.at<format::Nodes>(chunk)->tree);
      auto* thread = copy_.at<format::Thread>(tree->thread);
      const format::Ref end = chunk + head(chunk).units;
      for (format::Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end;
           ref += signal_safe::kUnitsOfNode) {
        const auto* node = copy_.at<format::Node>(ref);
        if (node->function == 0) continue;
        header().node_count += 1;
        if (node->values == 0) continue;
        const auto* values = copy_.at<std::uint64_t>(node->values);
        thread->cpu_ns += values[signal_safe::kCpuNs] + values[signal_safe::kOwnCostNs];
        thread->wall_ns += values[signal_safe::kWallNs] + values[signal_safe::kOwnCostNs];
        thread->samples += values[signal_safe::kSamples];
      }
      return true;
    });
    copy_.for_each(format::Kind::kEdges, [this](format::Ref chunk) {
      const format::Ref end = chunk + head(chunk).units;
      for (format::Ref ref = chunk + format::kItemsOffset / format::kUnitBytes; ref < end; ++ref) {
        header().edge_count += copy_.at<format::Edge>(ref)->to != 0;
      }
      return true;
    });
    clear_marks();
  }

  std::uint64_t bytes_;
  long base_;
  signal_safe::Arena copy_;
};

}  // namespace

namespace {

// Whether a thread records into a profile, or will go back to it.
bool is_used(const fbleprof_profile* profile) {
  struct Search {
    const void* profile;
    bool found;
  } search = {profile, false};
  capture::for_each_attached(
      [](ThreadState& thread, void* argument) {
        auto* search = static_cast<Search*>(argument);
        search->found |= thread.profile == search->profile;
        for (std::uint32_t i = 0; i < thread.profiles; ++i) {
          search->found |= thread.profile_frames[i].profile == search->profile;
        }
      },
      &search);
  return search.found;
}

// Sets a row of values to 0, but for its blocks that are still allocated: their ends are counted
// later.
void clear_row(std::uint64_t* values, std::uint64_t bytes) {
  using namespace signal_safe;  // NOLINT: the names of the words
  std::uint64_t blocks = 0, in_bytes = 0;
  const bool has_memory = session.options.allocations != AllocationMode::kOff;
  if (has_memory) {
    blocks = values[kAllocations] - values[kFreesHere] - values[kFreesElsewhere];
    in_bytes = values[kAllocatedBytes] - values[kFreedHereBytes] - values[kFreedElsewhereBytes];
  }
  __builtin_memset(values, 0, bytes);
  if (blocks == 0) return;
  values[kAllocations] = blocks;
  values[kAllocatedBytes] = in_bytes;
  values[kSizes + size_class(in_bytes / blocks)] = blocks;
}

// Sets all counts to 0. The contexts stay, for the next profile.
void clear(const fbleprof_profile& profile) {
  const auto& arena = session.arena;
  const auto is_its = [&](format::Ref chunk) {
    const format::Ref tree = arena.at<format::Nodes>(chunk)->tree;
    return arena.at<format::Tree>(tree)->labels == profile.labels;
  };
  constexpr format::Ref kFirst = format::kItemsOffset / format::kUnitBytes;
  arena.for_each(format::Kind::kNodes, [&](format::Ref chunk) {
    const format::Ref end = chunk + arena.at<format::Head>(chunk)->units;
    if (!is_its(chunk)) return true;
    for (format::Ref ref = chunk + kFirst; ref < end; ref += signal_safe::kUnitsOfNode) {
      arena.at<format::Node>(ref)->calls = 0;
    }
    return true;
  });
  arena.for_each(format::Kind::kEdges, [&](format::Ref chunk) {
    const format::Ref end = chunk + arena.at<format::Head>(chunk)->units;
    if (!is_its(chunk)) return true;
    for (format::Ref ref = chunk + kFirst; ref < end; ++ref) {
      arena.at<format::Edge>(ref)->calls = 0;
    }
    return true;
  });
  arena.for_each(format::Kind::kValues, [&](format::Ref chunk) {
    const format::Ref end = chunk + arena.at<format::Head>(chunk)->units;
    if (!is_its(chunk)) return true;
    const std::uint64_t bytes = session.options.row_bytes;
    const auto units = static_cast<format::Ref>(bytes / format::kUnitBytes);
    for (format::Ref ref = chunk + kFirst; ref + units <= end; ref += units) {
      clear_row(arena.at<std::uint64_t>(ref), bytes);
    }
    return true;
  });
  for (auto* tree = profile.trees.load(); tree; tree = tree->next) {
    format::Thread* record = tree->record;
    record->cpu_ns = record->wall_ns = record->samples = record->dropped = 0;
    record->lost_calls = record->deep_calls = record->unmatched = 0;
    tree->tree.note_sampled(0);
  }
}

}  // namespace

int fbleprof_profile_write(fbleprof_profile* profile, const char* path) {
  if (!session.arena.base()) return 0;
  if (!path || (profile && profile->made_for != session.this_file())) return EINVAL;
  capture::charge_rest_of_this_thread();
  return Copy(profile).write_to(path);
}

void fbleprof_profile_free(fbleprof_profile* profile) {
  if (!profile || profile->made_for != session.this_file() || profile->is_free.load()) return;
  if (is_used(profile)) return;
  clear(*profile);
  profile->is_free.store(true, std::memory_order_release);
}
