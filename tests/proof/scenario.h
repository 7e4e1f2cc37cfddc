// A run of tests/programs/steps.c in its own directory, and the checks of its profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fbleprof::proof {

// Settings that all runs share, from the command line.
struct Setup {
  std::string library;   // libfbleprof.so
  std::string programs;  // directory of the test programs
  std::string launcher;  // fble-prof, for --exact
  std::string mode = "fentry";
};

struct Scenario {
  std::string name;                        // of steps.c
  std::vector<std::string> settings = {};  // FBLEPROF_...=
  bool with_allocations = false;           // libfbleprof_alloc.so too
};

class Run {
 public:
  Run(const Setup& setup, const Scenario& scenario);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::string& directory() const { return directory_; }
  std::vector<std::string> arguments() const;
  std::vector<std::string> environment(bool profiled) const;

  // Becomes the program, in a child process: stdout and stderr go to files.
  [[noreturn]] void become(bool profiled) const;

  std::string text_of(const std::string& file) const;  // of the directory: "out", "err"
  // The profiles that have a name at this moment.
  std::vector<std::string> profiles() const;

 private:
  const Setup& setup_;
  const Scenario& scenario_;
  std::string directory_;
};

// The program's own counts of its functions.
struct Counted {
  static constexpr int kFunctions = 9;
  std::uint64_t address[kFunctions];
  std::uint64_t calls[kFunctions];
  std::uint64_t signals;
};

// A profile as bytes, at one moment.
struct Image {
  std::string name;
  std::vector<std::byte> bytes;
};

struct Findings {
  std::vector<std::string> problems;
  std::uint64_t missing = 0;  // calls that the program counted and the profiles do not have
  std::uint64_t more = 0;     // and the other way round, largest of any function
  bool is_told = false;       // the profiles say that something was lost
  bool is_whole = false;      // nothing is missing
};

// Whether all profiles read, verify, and hold the counted calls, and at most `in_flight` more per
// function. `is_stepped`: a step takes so much CPU time that one charge may be of seconds, so a
// charge caught half-way is not a problem.
Findings examine(const std::vector<Image>& images, const Counted& counted, unsigned in_flight,
                 bool is_stepped = false);

// The files of a run that has ended.
std::vector<Image> images_of(const Run& run);
Counted counted_of(const Run& run);

}  // namespace fbleprof::proof
