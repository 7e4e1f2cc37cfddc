// Programs compiled while the test runs, to be symbolized.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fbleprof::symbolize {

// A directory that is gone with the object.
class Workshop {
 public:
  Workshop();
  ~Workshop();

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  // Runs a shell command in the directory; false if it fails.
  bool run(const std::string& command) const;
  // Compiles the sample program of build_sample.cc; fails the test if that fails.
  std::string compile(const std::string& compiler, const std::string& flags,
                      const std::string& name) const;
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string directory_;
};

// The start of the function with this linkage name, by the file's own symbol table; 0 = none.
std::uint64_t address_of(const std::string& file, const std::string& linkage_name);
std::string build_id_of(const std::string& file);
// The virtual addresses of a section, every `step` bytes; none if there is no such section.
std::vector<std::uint64_t> addresses_in(const std::string& file, const std::string& section,
                                        std::uint64_t step);

// Line numbers of the sample.
inline constexpr unsigned kLeafLine = 6;
inline constexpr unsigned kMiddleLine = 11;
inline constexpr unsigned kAreaLine = 16;

}  // namespace fbleprof::symbolize
