#include "launch/runs.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "format/format.h"
#include "format/plain_run.h"
#include "launch/names.h"
#include "launch/program_run.h"
#include "launch/say.h"

namespace fbleprof::launch {
namespace {

void tell(const std::string& line) { say("--runs: " + line); }

// A file that both runs use from the same offset on.
class Rewound {
 public:
  explicit Rewound(int fd) : fd_(fd) {
    struct stat status {};
    is_file_ = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    size_ = status.st_size;
    at_ = is_file_ ? lseek(fd, 0, SEEK_CUR) : -1;
  }
  void rewind_input() const {
    if (at_ >= 0) lseek(fd_, at_, SEEK_SET);
  }
  // Discards the first run's output: the second run writes it again.
  void rewind_output() const {
    if (!is_file_ || at_ < 0) return;
    if (ftruncate(fd_, size_) == 0) lseek(fd_, at_, SEEK_SET);
  }

 private:
  int fd_;
  bool is_file_ = false;
  off_t size_ = 0, at_ = -1;
};

bool is_pipe(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

// Reads the first run's stdout if that is a pipe, so that the pipe's reader sees one run. The
// program still writes to a pipe, and behaves accordingly.
class Drain {
 public:
  Drain() {
    if (!is_pipe(STDOUT_FILENO) || pipe2(ends_, O_CLOEXEC) != 0) return;
    reader_ = std::thread([from = ends_[0]] {
      char bytes[65536];
      for (;;) {
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got == 0 || (got < 0 && errno != EINTR)) return;
      }
    });
  }
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;
  ~Drain() {
    if (!reader_.joinable()) return;
    close(ends_[1]);
    // A daemon that the program left may hold the other end forever.
    reader_.detach();
  }
  // In the child process.
  void take_stdout() const {
    if (reader_.joinable()) dup2(ends_[1], STDOUT_FILENO);
  }

 private:
  int ends_[2] = {-1, -1};
  std::thread reader_;
};

bool read_header(const std::string& file, format::Header& header) {
  std::ifstream in(file, std::ios::binary);
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&header), sizeof header));
}

// A profile of one of the runs.
struct Written {
  std::string file;
  std::string program;  // the path of its executable
  std::uint64_t start_ns = 0;
};

std::string program_of(const std::string& file, const format::Header& header) {
  constexpr std::uint32_t kMost = 1 << 16;
  std::ifstream in(file, std::ios::binary);
  format::String string{};
  in.seekg(static_cast<std::streamoff>(std::uint64_t{header.executable} * format::kUnitBytes));
  if (header.executable == 0 || !in.read(reinterpret_cast<char*>(&string), sizeof string) ||
      string.head.kind != format::Kind::kString) {
    return {};
  }
  std::string text(std::min(string.length, kMost), 0);
  in.seekg(static_cast<std::streamoff>(std::uint64_t{header.executable} * format::kUnitBytes +
                                       offsetof(format::String, bytes)));
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

// The profiles of one process, oldest first; several, if exec continued it as another program.
std::vector<Written> of_process(const std::vector<std::string>& files, pid_t pid) {
  std::vector<Written> own;
  for (const std::string& file : files) {
    format::Header header{};
    if (read_header(file, header) && header.pid == static_cast<std::uint32_t>(pid)) {
      own.push_back({file, program_of(file, header), header.start_realtime_ns});
    }
  }
  std::stable_sort(own.begin(), own.end(),
                   [](const Written& a, const Written& b) { return a.start_ns < b.start_ns; });
  return own;
}

// Puts `plain` behind the records of `counted`, whose reserved space is cut off.
bool join(const std::string& counted, const std::string& plain) {
  format::Header counted_header{}, plain_header{};
  if (!read_header(counted, counted_header) || !read_header(plain, plain_header)) return false;
  std::ifstream in(plain, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (bytes.size() < plain_header.used_bytes) return false;
  bytes.resize(plain_header.used_bytes);
  format::PlainRunEnd end{counted_header.used_bytes, bytes.size(), {}};
  std::memcpy(end.magic, format::kPlainRunMagic, sizeof end.magic);
  const auto* last = reinterpret_cast<const char*>(&end);
  bytes.insert(bytes.end(), last, last + sizeof end);
  const auto used = static_cast<off_t>(counted_header.used_bytes);
  const int fd = open(counted.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  std::size_t done = 0;
  bool fits = ftruncate(fd, used) == 0;
  while (fits && done < bytes.size()) {
    const ssize_t step =
        pwrite(fd, bytes.data() + done, bytes.size() - done, used + static_cast<off_t>(done));
    if (step < 0 && errno == EINTR) continue;
    fits = step > 0;
    if (fits) done += static_cast<std::size_t>(step);
  }
  if (!fits && ftruncate(fd, used) != 0) tell(counted + ": " + std::strerror(errno));
  return close(fd) == 0 && fits;
}

std::string describe(int status) {
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "status " + std::to_string(WEXITSTATUS(status));
}

// The profiles of both runs. They may have any names: if %p stands in the template, those of both
// runs begin alike.
struct ProfilesOfRuns {
  std::vector<std::string> plain, counted;
};
ProfilesOfRuns profiles_of_runs(const TwoRuns& runs, std::uint64_t second_since_ns) {
  ProfilesOfRuns found;
  for (const std::string& file : profiles_of_run(runs.out, runs.since_ns)) {
    format::Header header{};
    if (!read_header(file, header)) continue;
    (header.start_realtime_ns < second_since_ns ? found.plain : found.counted).push_back(file);
  }
  return found;
}

// Takes the last one of this program out of `profiles`. A program that exec replaced at once has a
// profile only if its calls were counted, so the last ones of both runs belong together.
std::optional<Written> take_last_of(const std::string& program, std::vector<Written>& profiles) {
  for (std::size_t i = profiles.size(); i-- > 0;) {
    if (profiles[i].program != program) continue;
    Written found = std::move(profiles[i]);
    profiles.erase(profiles.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  return std::nullopt;
}

void join_runs(const TwoRuns& runs, const std::string& plain_out, std::uint64_t second_since_ns,
               pid_t plain, pid_t counted) {
  const ProfilesOfRuns all = profiles_of_runs(runs, second_since_ns);
  std::vector<Written> from = of_process(all.plain, plain);
  const std::vector<Written> into = of_process(all.counted, counted);
  const std::size_t own = from.size();
  bool is_joined = false;
  for (std::size_t i = into.size(); i-- > 0;) {
    const auto partner = take_last_of(into[i].program, from);
    if (!partner) continue;
    is_joined = true;
    if (join(into[i].file, partner->file)) {
      unlink(partner->file.c_str());
    } else {
      tell(into[i].file + ": cannot be written; the sampled run is " + partner->file);
    }
  }
  if (!is_joined) {
    tell("the sampled run and the counted run wrote different profiles, which are not joined");
    return;
  }
  for (const Written& left : from) {
    tell(left.file + ": the counted run has no profile of this program");
  }
  if (all.plain.size() > own) {
    tell(
        "child processes: their profiles are those of the counted run; those of the sampled run "
        "are " +
        plain_out + (plain_out.find('%') == std::string::npos ? ".*" : ""));
  }
}

void put_names(const TwoRuns& runs) {
  if (!runs.names) return;
  const auto files = profiles_of_run(runs.out, runs.since_ns);
  if (!files.empty()) put_names_into(files);
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds(1));
}

}  // namespace

int run_twice(const TwoRuns& runs) {
  const Rewound input(STDIN_FILENO), output(STDOUT_FILENO);
  if (is_pipe(STDIN_FILENO)) {
    // The writer of the pipe may have started together with us. An idle pipe counts as no input.
    constexpr int kWaitMs = 500;
    pollfd input_pipe = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input_pipe, 1, kWaitMs) > 0 && (input_pipe.revents & POLLIN) != 0) {
      tell(
          "stdin is a pipe, which can be read only once: put its data into a file, and use < FILE");
      return 2;
    }
  }
  const std::string plain_out = runs.out + ".sampled";
  ProgramRun plain;
  {
    const Drain drain;
    plain = run_program([&] {
      drain.take_stdout();
      unsetenv("FBLEPROF_EXACT");
      setenv("FBLEPROF_OUT", plain_out.c_str(), 1);
      return runs.become_program();
    });
  }
  if (plain.pid < 0) {
    tell(std::string("cannot fork: ") + std::strerror(errno));
    return runs.become_program();
  }
  // A program may end as usual when it is told to. Who did that does not expect another run.
  if (WIFSIGNALED(plain.status) || was_told_to_end()) {
    tell(std::string("the sampled run was ") +
         (WIFSIGNALED(plain.status) ? "ended by a signal" : "told to end") +
         ", and no other follows: its profile is " + plain_out);
    put_names(runs);
    return leave_like(plain.status);
  }
  input.rewind_input();
  output.rewind_output();
  const std::uint64_t second_since_ns = now_ns();
  const ProgramRun counted = run_program(runs.become_program);
  if (counted.pid < 0) {
    tell(std::string("cannot fork: ") + std::strerror(errno));
    return runs.become_program();
  }
  if (counted.status != plain.status) {
    tell("the two runs differ: the sampled one ended with " + describe(plain.status) +
         ", the counted one with " + describe(counted.status));
  }
  join_runs(runs, plain_out, second_since_ns, plain.pid, counted.pid);
  put_names(runs);
  return leave_like(counted.status);
}

}  // namespace fbleprof::launch
