// Searches for blocks that are reachable from nowhere.
//
// The search is conservative, like a garbage collector's: a word that looks like the address of a
// block counts as one. The search begins with the roots: variables of modules, stacks, and memory
// that the program mapped itself. It continues in each block that it finds. The allocator's own
// memory holds only blocks: the rest of it was freed, and holds stale addresses.
//
// Memory is read with process_vm_readv. Another thread may unmap it meanwhile, and a plain read
// would kill the program. The search ends after kMostNs, to keep the program's exit short. Then no
// block counts as lost.
#include "capture/leaks.h"

#include <errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <new>

#include "arch/kernel.h"
#include "capture/description.h"
#include "capture/kernel_file.h"
#include "capture/own_memory.h"
#include "capture/profile.h"
#include "capture/text.h"
#include "capture/threads.h"
#include "signal_safe/allocations.h"
#include "signal_safe/memory_words.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using signal_safe::LiveBlock;
using signal_safe::LiveBlocks;
using signal_safe::session;

namespace {

constexpr std::uint64_t kMostNs = 1'000'000'000;

struct Range {
  std::uint64_t begin = 0, end = 0;
  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
};

// The linker's names for the recorder's own image.
extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // NOLINT
extern const char _end[] __attribute__((visibility("hidden")));          // NOLINT
}

// A mapping, as a line of /proc/self/maps describes it.
struct Mapping {
  Range range;
  bool is_writable = false, is_inaccessible = false, is_file = false;
  bool is_heap = false, is_stack = false;
};

// Which pages of private memory were ever written.
class TouchedPages {
 public:
  TouchedPages() : pages_(static_cast<std::uint64_t*>(session.pages.take(kBytes))) {}
  ~TouchedPages() {
    if (pages_ != nullptr) session.pages.give_back(pages_, kBytes);
  }
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  // True, too, if the kernel does not tell.
  bool holds(const void* address) {
    constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
    const std::uint64_t page = reinterpret_cast<std::uint64_t>(address) / kPageBytes;
    if (page - first_ >= known_) read_from(page);
    return known_ == 0 || (pages_[page - first_] & (kPresent | kSwapped)) != 0;
  }

 private:
  static constexpr std::uint64_t kBytes = 4 * kPageBytes;

  void read_from(std::uint64_t page) {
    const bool can_read = file_ && pages_ != nullptr;
    const long read = can_read ? file_.read(page * sizeof *pages_, pages_, kBytes) : 0;
    first_ = page;
    known_ = read > 0 ? static_cast<std::uint64_t>(read) / sizeof *pages_ : 0;
  }

  File file_{"/proc/self/pagemap", O_RDONLY};
  std::uint64_t* pages_;
  std::uint64_t first_ = 0, known_ = 0;
};

// Our own ranges, which hold no roots.
class OwnMemory {
 public:
  explicit OwnMemory(TouchedPages& touched) {
    for_each_region(
        [](void* self, const void* base, std::uint64_t bytes) {
          static_cast<OwnMemory*>(self)->add(reinterpret_cast<std::uint64_t>(base), bytes);
        },
        this);
    add(reinterpret_cast<std::uint64_t>(session.arena.base()), session.arena.cap_bytes());
    session.allocations.blocks.for_each_table(
        [this](std::uint64_t begin, std::uint64_t bytes) { add(begin, bytes); },
        [&touched](const void* at) { return touched.holds(at); });
    // Most of its megabytes are tables that were never touched.
    add(reinterpret_cast<std::uint64_t>(__ehdr_start),
        static_cast<std::uint64_t>(_end - __ehdr_start));
  }
  // The parts of a range that are not ours. The kernel may join a mapping of the program's to one
  // of ours.
  template <typename Function>
  void for_each_part_outside(Range range, Function function) const {
    while (range.begin < range.end) {
      const Range* first = nullptr;
      for (int i = 0; i < count_; ++i) {
        if (!ranges_[i].overlaps(range)) continue;
        if (first == nullptr || ranges_[i].begin < first->begin) first = &ranges_[i];
      }
      if (first == nullptr) return function(range);
      if (range.begin < first->begin) function({range.begin, first->begin});
      range.begin = first->end;
    }
  }

 private:
  static constexpr int kMost = 512;
  void add(std::uint64_t begin, std::uint64_t bytes) {
    if (count_ < kMost) ranges_[count_++] = {begin, begin + bytes};
  }
  Range ranges_[kMost];
  int count_ = 0;
};

class Search {
 public:
  Search(LiveBlocks& blocks, TouchedPages& touched)
      : blocks_(blocks), touched_(touched), own_(touched) {
    blocks_.for_each(
        [this](std::uint64_t, const LiveBlock& block) {
          ++most_waiting_;
          most_large_ += block.bytes >= LiveBlocks::kMostInside;
        },
        [&touched](const void* at) { return touched.holds(at); });
  }

  // False: the search was not finished.
  bool run() {
    // Blocks that were found and must still be searched. Each block gets here once.
    waiting_bytes_ = (most_waiting_ + most_large_ + 1) * sizeof(Range);
    waiting_ = static_cast<Range*>(session.pages.take(waiting_bytes_));
    if (waiting_ == nullptr) return false;
    large_ = waiting_ + most_waiting_ + 1;
    if (most_large_ != 0) find_large(touched_);
    end_ns_ = signal_safe::monotonic_ns() + kMostNs;
    search_stacks();
    const bool read = search_mappings();
    search_found();
    session.pages.give_back(waiting_, waiting_bytes_);
    return read && !must_stop();
  }
  // Whether the system lets nobody read memory this way, not even the process itself.
  bool is_refused() const { return is_refused_; }

 private:
  static constexpr std::uint64_t kChunk = 64 * 1024;

  bool must_stop() const { return is_late_ || is_refused_; }

  // Searches a range for words that may be addresses of blocks.
  void search(Range range) {
    range.begin = (range.begin + 7) & ~std::uint64_t{7};
    while (range.begin + 8 <= range.end && !must_stop()) {
      std::uint64_t bytes = range.end - range.begin;
      if (bytes > kChunk) bytes = kChunk;
      const std::uint64_t read = copy(range.begin, bytes);
      for (std::uint64_t i = 0; i < read / 8; ++i) consider(chunk_[i]);
      // Skip pages that cannot be read.
      range.begin += read >= 8 ? read / 8 * 8 : kPageBytes - range.begin % kPageBytes;
      is_late_ = signal_safe::monotonic_ns() > end_ns_;
    }
  }

  std::uint64_t copy(std::uint64_t from, std::uint64_t bytes) {
    const iovec local{chunk_, bytes};
    const iovec remote{reinterpret_cast<void*>(from), bytes};
    const long read =
        kernel_call(SYS_process_vm_readv, kernel_call(SYS_getpid), reinterpret_cast<long>(&local),
                    1, reinterpret_cast<long>(&remote), 1, 0);
    is_refused_ |= read == -EPERM || read == -ENOSYS;
    return read > 0 ? static_cast<std::uint64_t>(read) : 0;
  }

  void consider(std::uint64_t word) {
    std::uint64_t begin = 0;
    LiveBlock block = blocks_.mark(word, &begin);
    if (block.node == 0) block = mark_large(word, &begin);
    if (block.node == 0 || waiting_count_ >= most_waiting_) return;
    waiting_[waiting_count_++] = {begin, begin + block.bytes + blocks_.least_distance() / 2};
  }

  // The same for an address far inside of a block, where mark() does not look.
  LiveBlock mark_large(std::uint64_t word, std::uint64_t* begin) {
    if (large_count_ == 0 || word < large_[0].begin) return {};
    const Range* after =
        std::upper_bound(large_, large_ + large_count_, word,
                         [](std::uint64_t at, const Range& range) { return at < range.begin; });
    return word < after[-1].end ? blocks_.mark(after[-1].begin, begin) : LiveBlock{};
  }

  void find_large(TouchedPages& touched) {
    blocks_.for_each(
        [this](std::uint64_t begin, const LiveBlock& block) {
          if (block.bytes < LiveBlocks::kMostInside || large_count_ >= most_large_) return;
          large_[large_count_++] = {begin, begin + block.bytes};
        },
        [&touched](const void* at) { return touched.holds(at); });
  }

  void search_found() {
    while (waiting_count_ > 0 && !must_stop()) search(waiting_[--waiting_count_]);
  }

  // Searches stacks apart from other mappings, since the kernel joins neighbours: a stack and a
  // large block can look like one.
  void search_stacks() {
    const auto here = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
    struct Context {
      Search* self;
      std::uint64_t here;
    } context{this, here};
    for_each_attached(
        [](signal_safe::ThreadState& thread, void* argument) {
          auto* context = static_cast<Context*>(argument);
          Range range{thread.main_stack.low, thread.main_stack.high};
          if (range.begin == 0 || range.end - range.begin > std::uint64_t{1} << 32) return;
          if (range.begin <= context->here && context->here < range.end) {
            range.begin = context->here;
          }
          context->self->search(range);
        },
        &context);
  }

  bool search_mappings() {
    MappingReader reader;
    if (!reader) return false;
    Mapping mapping, following;
    bool any = reader.next(&mapping);
    while (any) {
      const bool more = reader.next(&following);
      search_mapping(
          mapping, more && following.is_inaccessible && following.range.begin == mapping.range.end);
      mapping = following;
      any = more;
    }
    return true;
  }

  void search_mapping(const Mapping& mapping, bool is_growing) {
    if (!mapping.is_writable || mapping.is_stack) return;
    own_.for_each_part_outside(mapping.range, [&](const Range& part) {
      search_part(mapping, part, is_growing && part.end == mapping.range.end);
    });
  }

  void search_part(const Mapping& mapping, Range range, bool is_growing) {
    if (mapping.is_file) return search(range);
    // The allocator's own memory: [heap], and glibc's arenas for threads, which begin at multiples
    // of their size and have room to grow behind them.
    if (mapping.is_heap) return;
    constexpr std::uint64_t kArenaBytes = 64 << 20;
    if (is_growing) {
      const std::uint64_t arena = (range.end - 1) / kArenaBytes * kArenaBytes;
      std::uint64_t first;
      LiveBlock block;
      if (arena >= range.begin && blocks_.any_in(arena, range.end, &first, &block)) {
        range.end = arena;
      }
    }
    // The rest is single large blocks, and roots between them.
    while (range.begin < range.end) {
      std::uint64_t first = range.end;
      LiveBlock block;
      if (!blocks_.any_in(range.begin, range.end, &first, &block)) first = range.end;
      search({range.begin, first});
      range.begin = first < range.end ? first + block.bytes + blocks_.least_distance() : first;
    }
  }

  // /proc/self/maps, line by line.
  class MappingReader {
   public:
    MappingReader() : file_("/proc/self/maps", O_RDONLY) {}
    explicit operator bool() const { return static_cast<bool>(file_); }

    bool next(Mapping* mapping) {
      *mapping = {};
      char line[128];
      int length = 0;
      for (int c = get();; c = get()) {
        if (c < 0) return false;
        if (c == '\n') break;
        if (length + 1 < static_cast<int>(sizeof line)) line[length++] = static_cast<char>(c);
      }
      line[length] = 0;
      const char* at = line;
      mapping->range.begin = hexadecimal(&at);
      ++at;
      mapping->range.end = hexadecimal(&at);
      ++at;
      mapping->is_writable = at[0] == 'r' && at[1] == 'w';
      mapping->is_inaccessible = at[0] == '-';
      // offset, device, inode, name
      for (int field = 0; field < 4 && *at; ++field) {
        while (*at && *at != ' ') ++at;
        while (*at == ' ') ++at;
      }
      mapping->is_file = *at == '/';
      mapping->is_heap = starts(at, "[heap]");
      mapping->is_stack = starts(at, "[stack]");
      return true;
    }

   private:
    static bool starts(const char* text, const char* with) {
      while (*with && *text == *with) ++text, ++with;
      return !*with;
    }
    static std::uint64_t hexadecimal(const char** at) {
      std::uint64_t value = 0;
      for (int digit; (digit = hex_digit(**at)) >= 0; ++*at) {
        value = value * 16 + static_cast<std::uint64_t>(digit);
      }
      return value;
    }
    int get() {
      if (at_ == filled_) {
        filled_ =
            kernel_call(SYS_read, file_.fd(), reinterpret_cast<long>(buffer_), sizeof buffer_);
        at_ = 0;
        if (filled_ <= 0) return filled_ = 0, -1;
      }
      return static_cast<unsigned char>(buffer_[at_++]);
    }

    File file_;
    char buffer_[4096];
    long at_ = 0, filled_ = 0;
  };

  LiveBlocks& blocks_;
  TouchedPages& touched_;
  OwnMemory own_;
  Range* waiting_ = nullptr;
  Range* large_ = nullptr;  // the large blocks, by address
  std::uint64_t large_count_ = 0, most_large_ = 0;
  std::uint64_t waiting_bytes_ = 0, waiting_count_ = 0, most_waiting_ = 0;
  std::uint64_t end_ns_ = 0;
  bool is_late_ = false, is_refused_ = false;
  std::uint64_t chunk_[kChunk / 8];
};

bool search_for_reachable(TouchedPages& touched) {
  if (session.options.allocations != signal_safe::AllocationMode::kExact) return false;
  if (profile.began_late) {
    // The allocator's memory is searched only where blocks are known.
    remark("blocks from before the recording may hold others: none is shown as lost");
    return false;
  }
  // It is larger than some stacks.
  void* memory = session.pages.take(sizeof(Search));
  if (memory == nullptr) return false;
  auto* search = new (memory) Search(session.allocations.blocks, touched);
  const bool finished = search->run(), refused = search->is_refused();
  search->~Search();
  session.pages.give_back(memory, sizeof(Search));
  if (refused) {
    remark("the system refuses to read memory (process_vm_readv): no block is shown as lost");
  } else if (!finished) {
    remark("the search for lost blocks was not finished in 1 s: none is shown as lost");
  }
  return finished;
}

}  // namespace

void charge_leaks() {
  signal_safe::Allocations& all = session.allocations;
  if (all.blocks.is_on()) {
    TouchedPages touched;
    const bool searched = search_for_reachable(touched);
    const auto charge = [&](std::uint64_t, const LiveBlock& block) {
      std::uint64_t* values = signal_safe::values_of(session.arena, block.node);
      values[signal_safe::kLeakedBlocks] += 1;
      values[signal_safe::kLeakedBytes] += block.bytes;
      if (!searched || block.is_marked()) return;
      values[signal_safe::kLostBlocks] += 1;
      values[signal_safe::kLostBytes] += block.bytes;
    };
    all.blocks.for_each(charge, [&touched](const void* at) { return touched.holds(at); });
  }
  if (all.sampled.is_on()) {
    all.sampled.for_each([&](const signal_safe::SampledBlock& block) {
      std::uint64_t* values = signal_safe::values_of(session.arena, block.node);
      values[signal_safe::kLeakedBlocks] += block.count;
      values[signal_safe::kLeakedBytes] += block.bytes;
    });
  }
}

}  // namespace fbleprof::capture
