// A run of tests/programs/steps.c in its own directory, and the checks of its profiles.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fbleprof::proof {

// How steps.c is recorded.
struct Mode {
  std::string name;     // on the command line
  std::string program;  // how it was built: steps.PROGRAM
  // FBLEPROF_...=, and what is preloaded beside the recorder.
  std::vector<std::string> settings = {};
  std::vector<std::string> libraries = {};
  bool is_counted = true;    // the profile has every call
  bool is_attached = false;  // the recorder comes into the running program
};

// What all runs share, from the command line.
struct Setup {
  std::string library;   // libfbleprof.so
  std::string programs;  // directory of the test programs
  std::string launcher;  // fble-prof, for --exact
  std::string plans;     // a directory for the plans of --exact
  Mode mode;
};

// The hooks of a test program, or: exact, attached (attach --exact), sampled, allocations, waits.
Mode mode_named(const std::string& name, const Setup& setup);

struct Scenario {
  std::string name;                        // of steps.c
  std::vector<std::string> settings = {};  // FBLEPROF_...=
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
  std::string path_of(const std::string& file) const { return directory_ + "/" + file; }
  // The profiles that have a name at this moment.
  std::vector<std::string> profiles() const;
  const Mode& mode() const { return setup_.mode; }

 private:
  const Setup& setup_;
  const Scenario& scenario_;
  std::string directory_;
};

// How a run ended, and what it wrote.
struct End {
  int status = 0;  // as of waitpid
  std::string out;
  bool operator==(const End&) const = default;
  std::string shown() const;
};
// Without the profiler.
End plain_end(const Setup& setup, const Scenario& scenario);

// The program's own counts of its functions.
struct Counted {
  static constexpr int kFunctions = 9, kEven = 1, kOdd = 2;
  std::uint64_t address[kFunctions];
  std::uint64_t calls[kFunctions];
  std::uint64_t signals;
};

// What the profiles of a run must hold: at least the calls of `least`, and at most those of `most`
// and `in_flight` more of a function.
struct Truth {
  Counted least{}, most{};
  unsigned in_flight = 0;
};
Counted counted_of(const Run& run);
// Of a run that was recorded from its start.
Truth truth_of(const Run& run, unsigned in_flight);

// A profile as bytes, at one moment.
struct Image {
  std::string name;
  std::vector<std::byte> bytes;
};

struct Findings {
  std::vector<std::string> problems;
  std::uint64_t missing = 0;  // calls that the program counted and the profiles do not have
  std::uint64_t more = 0;     // and the other way round, largest of any function
  bool is_counted = false;    // the profiles count what was lost
  std::set<std::string> notes;
  bool is_told = false;   // either; some notes are of every run
  bool is_whole = false;  // nothing is missing
};

// Whether all profiles read, verify, and hold the calls. `is_stepped`: a step takes so much CPU
// time that one charge may be of seconds, so a charge caught half-way is not a problem.
Findings examine(const std::vector<Image>& images, const Truth& truth, bool is_stepped = false);

// The CPU time that a profile has, as time of contexts or as overhead.
struct Charged {
  std::uint32_t pid = 0;
  std::uint64_t ns = 0;
  std::uint64_t threads_running = 0;
};
Charged charged_of(const Image& image);

// The files of a run that has ended.
std::vector<Image> images_of(const Run& run);

}  // namespace fbleprof::proof
