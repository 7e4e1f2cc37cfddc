// A killed program leaves its file as it was at that moment: the mapping is shared, and the kernel
// keeps what was stored. So instead of one killed run per instruction, one run is stopped at each
// instruction, and its files are examined whenever they have changed.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "format/format.h"
#include "tests/proof/proofs.h"
#include "tests/proof/tracee.h"

namespace fbleprof::proof {

namespace {

// One file of the run, in its current state and as last examined.
class Watched {
 public:
  explicit Watched(const std::string& path) : name_(std::filesystem::path(path).filename()) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size >= format::kHeaderBytes) {
      void* at =
          mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_SHARED, fd, 0);
      if (at != MAP_FAILED) now_ = static_cast<const std::byte*>(at);
      fd_ = fd;
      mapped_ = static_cast<std::size_t>(status.st_size);
    } else if (fd >= 0) {
      close(fd);
    }
  }
  ~Watched() {
    if (now_) munmap(const_cast<std::byte*>(now_), mapped_);
    if (fd_ >= 0) close(fd_);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  bool is_open() const { return now_ != nullptr; }

  // Whether the file has changed since the last call. Takes a copy if it has.
  bool has_changed() {
    const std::size_t bytes = used();
    if (bytes == image_.bytes.size() && std::memcmp(now_, image_.bytes.data(), bytes) == 0) {
      return false;
    }
    image_ = {name_, {now_, now_ + bytes}};
    return true;
  }
  const Image& image() const { return image_; }

 private:
  // A file that was cut has no pages beyond its end: reading there would kill this process.
  std::size_t used() const {
    struct stat status {};
    fstat(fd_, &status);
    const auto size = std::min(static_cast<std::size_t>(status.st_size), mapped_);
    if (size < format::kHeaderBytes) return 0;
    return std::min<std::size_t>(reinterpret_cast<const format::Header*>(now_)->used_bytes, size);
  }

  std::string name_;
  int fd_ = -1;
  const std::byte* now_ = nullptr;
  std::size_t mapped_ = 0;
  Image image_;
};

class Watch {
 public:
  explicit Watch(const Run& run) : run_(run) {}

  // Examines the files, if any of them has changed.
  bool look(unsigned in_flight, Findings& findings) {
    if (has_directory_changed()) find_files();
    bool is_new = false;
    for (auto& [path, file] : files_) is_new |= file->is_open() && file->has_changed();
    if (!is_new) return false;
    std::vector<Image> images;
    for (const auto& [path, file] : files_) {
      if (file->is_open()) images.push_back(file->image());
    }
    findings = examine(images, truth_of(run_, in_flight), true);
    return true;
  }

 private:
  bool has_directory_changed() {
    struct stat status {};
    stat(run_.directory().c_str(), &status);
    const bool is_same = status.st_mtim.tv_sec == changed_.tv_sec &&
                         status.st_mtim.tv_nsec == changed_.tv_nsec && files_.size() > 0;
    changed_ = status.st_mtim;
    return !is_same;
  }
  void find_files() {
    const auto paths = run_.profiles();
    std::erase_if(files_, [&](const auto& known) {
      return std::find(paths.begin(), paths.end(), known.first) == paths.end();
    });
    for (const std::string& path : paths) {
      // A file that was renamed or replaced is opened again.
      files_[path] = std::make_unique<Watched>(path);
    }
  }

  const Run& run_;
  timespec changed_{};
  std::map<std::string, std::unique_ptr<Watched>> files_;
};

struct Tally {
  std::uint64_t steps = 0, states = 0, problems = 0;
};

// The steps to examine: from where the program says, or from the recorder's first system call.
enum class From { kMark, kStart };

void step_through(const Setup& setup, const Scenario& scenario, From from, const Bound& bound,
                  Tally& tally) {
  Run run(setup, scenario);
  Tracee program(run, true);
  program.run_by_calls([&](Task& task, bool is_end, user_regs_struct& state) {
    const bool here = from == From::kMark ? state.orig_rax == kMark && is_end
                                          : program.is_recorders(task.tid, state.rip);
    if (here) program.stop_here();
    return false;
  });
  Watch watch(run);
  const std::uint64_t most = bound.quick ? 75'000 : 3'000'000;
  std::uint64_t steps = 0;
  program.run_by_steps([&](Task& task) {
    if (++steps > most) return false;
    // The program is about to announce the end of the steps or, if started from there, their
    // beginning.
    const user_regs_struct state = program.registers(task);
    if (state.rax == kMark && (state.rdi == 0 || from == From::kStart)) return false;
    Findings findings;
    if (!watch.look(static_cast<unsigned>(program.tasks()), findings)) return true;
    ++tally.states;
    if (findings.missing > 0) {
      findings.problems.push_back(fmt::format("{} calls are missing", findings.missing));
    }
    for (const std::string& problem : findings.problems) {
      if (++tally.problems <= 20) {
        fmt::print("{} {}: step {} at {:#x}: {}\n", scenario.name, setup.mode.name, steps,
                   state.rip, problem);
      }
    }
    return true;
  });
  tally.steps += steps;
  program.kill_all();
}

}  // namespace

int prove_crashes(const Setup& setup, const Bound& bound) {
  // Stepping takes time: at 1 Hz hardly any sample falls into it.
  const std::vector<std::string> slow = {"FBLEPROF_RATE=1"};
  struct Part {
    Scenario scenario;
    From from;
  };
  std::vector<Part> parts = {{{"calls", slow}, From::kMark},  {{"calls", slow}, From::kStart},
                             {{"thread", slow}, From::kMark}, {{"fork", slow}, From::kMark},
                             {{"exec", slow}, From::kMark},   {{"load", slow}, From::kMark},
                             {{"fatal", slow}, From::kMark},  {{"grow", slow}, From::kMark},
                             {{"memory", slow}, From::kMark}};
  std::uint64_t problems = 0;
  for (const Part& part : parts) {
    if (!bound.wants(part.scenario.name)) continue;
    const std::string& name = part.scenario.name;
    const bool is_long = part.from == From::kStart || name == "grow" || name == "exec";
    if (bound.quick && is_long) continue;
    Tally tally;
    step_through(setup, part.scenario, part.from, bound, tally);
    fmt::print(
        "killed after each step: {} {}{}: {} instructions, {} states of the files, {} problems\n",
        part.scenario.name, setup.mode.name, part.from == From::kStart ? " from its start" : "",
        tally.steps, tally.states, tally.problems);
    std::fflush(stdout);
    problems += tally.problems;
  }
  return static_cast<int>(std::min<std::uint64_t>(problems, 1000));
}

}  // namespace fbleprof::proof
