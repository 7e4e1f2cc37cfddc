#include "launch/names.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "format/format.h"

namespace fbleprof::launch {
namespace {

namespace fs = std::filesystem;

volatile pid_t g_program = 0;

void pass_on(int signal) {
  const int saved = errno;
  if (g_program > 0) kill(g_program, signal);
  errno = saved;
}

// Those that a shell or a service manager sends to the one process that it knows. A terminal sends
// its own to the program as well: they must not end us before it.
constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
constexpr int kOfTerminal[] = {SIGINT, SIGQUIT};

void prepare_signals() {
  for (const int signal : kPassedOn) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
  for (const int signal : kOfTerminal) ::signal(signal, SIG_IGN);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void put_names_into(const std::vector<std::string>& files) {
  std::error_code failure;
  const fs::path self = fs::read_symlink("/proc/self/exe", failure);
  std::string report = (self.parent_path() / "fble-prof-report").string();
  // In a build tree it stands in a folder of its own.
  if (access(report.c_str(), X_OK) != 0) {
    report = (self.parent_path() / "report" / "fble-prof-report").string();
  }
  std::vector<std::string> words = {report, "--pack", "--tolerant"};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("LD_PRELOAD");
    // The program's output is its own.
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    execv(report.c_str(), argv.data());
    std::fprintf(stderr, "fble-prof: --names: %s: %s\n", report.c_str(), std::strerror(errno));
    _exit(1);
  }
  if (child > 0) wait_for(child);
}

bool is_of_run(const fs::path& file, std::uint64_t since_ns) {
  std::ifstream in(file, std::ios::binary);
  format::Header header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  return in.gcount() == sizeof header &&
         std::memcmp(header.magic, format::kMagic, sizeof header.magic) == 0 &&
         header.start_realtime_ns >= since_ns && header.state != format::State::kLive;
}

}  // namespace

std::vector<std::string> profiles_of_run(const std::string& out, std::uint64_t since_ns) {
  const fs::path path(out);
  const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
  // The recorder expands %p and the like: what stands before the first is the same in all.
  const std::string name = path.filename().string();
  const std::string prefix = name.substr(0, name.find('%'));
  std::vector<std::string> files;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure)) {
    const std::string found = entry.path().filename().string();
    if (!found.starts_with(prefix) || found.ends_with(".old")) continue;
    std::error_code ignored;
    if (!entry.is_regular_file(ignored) || entry.is_symlink(ignored)) continue;
    if (is_of_run(entry.path(), since_ns)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int run_and_name(const std::function<int()>& become_program, const std::string& out,
                 std::uint64_t since_ns) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    _exit(become_program());
  }
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::fprintf(stderr, "fble-prof: --names: cannot fork: %s\n", std::strerror(errno));
    return become_program();
  }
  g_program = child;
  prepare_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = wait_for(child);
  g_program = 0;
  if (const auto files = profiles_of_run(out, since_ns); !files.empty()) put_names_into(files);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  // The program has left its core: there is nothing to learn from ours.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
  return 128 + signal;
}

}  // namespace fbleprof::launch
