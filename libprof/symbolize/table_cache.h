// Symbol tables stored on disk from one report to the next, by build-id. Those of a large program
// take seconds to lay out and milliseconds to read back, and those of a build that was replaced
// since it was profiled exist nowhere else. Also stores what large debug info said of addresses.
//
// One file for each table or module's lines, named by the build-id. Files are written under another
// name and renamed, so that concurrent reports never see half a file; damaged files and other
// versions are ignored. The cache keeps below a size limit by dropping the files that were not used
// for longest.
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
  // Smaller tables are laid out as fast as they are read: they are stored only if they may be
  // needed when their file is gone.
  static constexpr std::size_t kFewestFunctions = 1000;

  // $XDG_CACHE_HOME/fbleprof, or ~/.cache/fbleprof; "" if neither is set: then nothing is stored.
  static std::string default_directory();

  explicit TableCache(std::string directory, std::uint64_t most_bytes = kMostBytes,
                      std::size_t fewest_functions = kFewestFunctions)
      : directory_(std::move(directory)),
        most_bytes_(most_bytes),
        fewest_functions_(fewest_functions) {}

  std::optional<SymbolTable> find(const std::string& key) const;
  // Ignores errors: a cache that cannot be written must not fail a report.
  void keep(const std::string& key, const SymbolTable& table, bool even_if_small = false) const;
  std::optional<KnownLines> find_lines(const std::string& key) const;
  void keep_lines(const std::string& key, const KnownLines& lines) const;

  // Makes symbolizing with these options use this cache, which must outlive them.
  void serve(Options& options) const;

 private:
  std::string path_of(const std::string& key) const;
  // A file's bytes, converted by `parse`.
  template <class Parsed>
  std::optional<Parsed> read(const std::string& key,
                             std::optional<Parsed> (*parse)(std::string_view)) const;
  void write(const std::string& key, const std::string& bytes) const;

  std::string directory_;
  std::uint64_t most_bytes_;
  std::size_t fewest_functions_;
};

}  // namespace fbleprof::symbolize
