// fble-prof [options] program [arguments...]: sets the recorder's environment and becomes the
// program, whose exit status, signals and descriptors are thereby its own.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "launch/library.h"
#include "launch/options.h"
#include "launch/target.h"
#include "launch_paths.h"

namespace {

using namespace fbleprof::launch;

// As shells have it.
constexpr int kWrongUse = 2;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

void say(const std::string& line) { std::fprintf(stderr, "fble-prof: %s\n", line.c_str()); }

int give_up(int status, const std::string& line) {
  say(line);
  return status;
}

// A profile cannot be made in a directory that is not there. Names with %e and the like are only
// known to the recorder.
std::string missing_directory(const Request& request) {
  for (const auto& [variable, value] : request.environment) {
    if (variable != "FBLEPROF_OUT") continue;
    const std::filesystem::path directory = std::filesystem::path(value).parent_path();
    std::error_code failure;
    const bool known = directory.string().find('%') == std::string::npos && !directory.empty();
    if (known && !std::filesystem::is_directory(directory, failure)) return directory.string();
  }
  return {};
}

std::string realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::to_string(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                        static_cast<std::uint64_t>(now.tv_nsec));
}

// AddressSanitizer refuses to run when a library comes before its own, as a preloaded one does. It
// works there: what it intercepts and we do too goes through both.
void allow_asan_behind_us() {
  const char* options = std::getenv("ASAN_OPTIONS");
  std::string value = options && *options ? std::string(options) + ":" : "";
  setenv("ASAN_OPTIONS", (value + "verify_asan_link_order=0").c_str(), 1);
}

// `fble-prof push ...` is another program, beside this one: this one must not depend on what reads
// profiles. A program that is called push is run by `fble-prof -- push`.
int become_push(char** argv) {
  std::error_code failure;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failure);
  const std::string push = (self.parent_path() / "fble-prof-push").string();
  execv(push.c_str(), argv + 1);
  return give_up(kCannotRun, push + ": " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "push") return become_push(argv);
  const Request request = read_request({argv + 1, argv + argc});
  if (!request.error.empty()) {
    return give_up(kWrongUse, request.error + " (fble-prof --help explains the options)");
  }
  if (request.action != Action::kRun) {
    const std::string text =
        request.action == Action::kHelp ? help() : std::string("fble-prof ") + kVersion + "\n";
    const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? 0 : give_up(kWrongUse, std::string("stdout: ") + std::strerror(errno));
  }
  if (const std::string directory = missing_directory(request); !directory.empty()) {
    return give_up(kWrongUse, "--out: " + directory + ": no such directory");
  }

  const std::string library = find_library();
  if (library.empty()) {
    return give_up(kWrongUse, "libfbleprof.so was not found: install it with fble-prof");
  }
  if (library.find_first_of(": ") != std::string::npos) {
    return give_up(kWrongUse,
                   library + ": LD_PRELOAD cannot hold a path with a colon or a blank: move it");
  }

  const std::string& name = request.command.front();
  const Program program = find_program(name, std::getenv("PATH"));
  if (program.path.empty()) return give_up(kNotFound, name + ": not found");
  if (program.error != 0) return give_up(kCannotRun, name + ": " + std::strerror(program.error));

  for (const auto& [variable, value] : request.environment) {
    setenv(variable.c_str(), value.c_str(), 1);
  }
  // By this the recorder tells profiles of this run, which it leaves alone, from those of the last.
  setenv("FBLEPROF_RUN", realtime_ns().c_str(), 1);
  const Obstacle obstacle = obstacle_of(program.path);
  if (obstacle != Obstacle::kNone) say(explain(obstacle, name));
  // The dynamic linker would complain of the recorder in a program of another class. In the others
  // it does no harm, and their children may be profiled.
  if (obstacle != Obstacle::kForeignElf) {
    const std::string preload = with_preloaded(library, std::getenv("LD_PRELOAD"));
    setenv("LD_PRELOAD", preload.c_str(), 1);
  }

  if (has_shared_asan(program.path)) allow_asan_behind_us();
  const char* out = std::getenv("FBLEPROF_OUT");
  if (const std::string reason = obstacle_of_output(out && *out ? out : "mlmon.out");
      !reason.empty()) {
    say(reason + ": " + name + " runs unprofiled");
  }

  // execvp, with the name as it was typed: it runs scripts without a first line as shells do.
  execvp(name.c_str(), argv + (argc - static_cast<int>(request.command.size())));
  return give_up(errno == ENOENT ? kNotFound : kCannotRun, name + ": " + std::strerror(errno));
}
