// Symbol tables kept on disk from one report to the next, by build-id: those of a large program
// take seconds to lay out and milliseconds to read back, and those of a build that was replaced
// since it was profiled are nowhere else. And what large debug info said of addresses.
//
// A file a table or a file's lines, named by the build-id. Files are written aside and renamed, so
// that reports that run at the same time never see half of one; what is damaged, or of another
// version, is as if it were not there. The cache keeps itself below a size by dropping what was not
// used for longest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "symbolize/known_lines.h"
#include "symbolize/symbol_table.h"
#include "symbolize/symbolizer.h"

namespace fbleprof::symbolize {

class TableCache {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{512} << 20;
  // Smaller tables are laid out as fast as they are read: only those are kept that may be asked for
  // when their file is gone.
  static constexpr std::size_t kFewestFunctions = 1000;

  // $XDG_CACHE_HOME/fbleprof, or ~/.cache/fbleprof; "" if there is neither: then nothing is kept.
  static std::string default_directory();

  explicit TableCache(std::string directory, std::uint64_t most_bytes = kMostBytes,
                      std::size_t fewest_functions = kFewestFunctions)
      : directory_(std::move(directory)),
        most_bytes_(most_bytes),
        fewest_functions_(fewest_functions) {}

  std::optional<SymbolTable> find(const std::string& key) const;
  // Where it cannot be kept it is not: a cache is no reason for an error.
  void keep(const std::string& key, const SymbolTable& table, bool even_if_small = false) const;
  std::optional<KnownLines> find_lines(const std::string& key) const;
  void keep_lines(const std::string& key, const KnownLines& lines) const;

  // Lets symbolizing with these options find and keep things here; this must outlive them.
  void serve(Options& options) const;

 private:
  std::string path_of(const std::string& key) const;
  // A file's bytes as `parse` reads them.
  template <class Parsed>
  std::optional<Parsed> read(const std::string& key,
                             std::optional<Parsed> (*parse)(std::string_view)) const;
  void write(const std::string& key, const std::string& bytes) const;
  void make_room() const;

  std::string directory_;
  std::uint64_t most_bytes_;
  std::size_t fewest_functions_;
};

}  // namespace fbleprof::symbolize
