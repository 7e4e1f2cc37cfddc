// fble-prof [options] program [arguments...]: sets the recorder's environment and becomes the
// program, so exit status, signals and descriptors are the program's own.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "base/standard_descriptors.h"
#include "launch/adapters.h"
#include "launch/attach_command.h"
#include "launch/ctl.h"
#include "launch/exact.h"
#include "launch/filter.h"
#include "launch/library.h"
#include "launch/names.h"
#include "launch/options.h"
#include "launch/periodic.h"
#include "launch/program_run.h"
#include "launch/runs.h"
#include "launch/say.h"
#include "launch/target.h"

namespace {

using namespace fbleprof::launch;

// The status that shells use.
constexpr int kWrongUse = 2;
constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

// Why no profile can come to where --out says, or "". Only the recorder can expand names with %e
// and the like, and it says what else is wrong: it may run as another user.
std::string obstacle_to_output(const Request& request) {
  namespace fs = std::filesystem;
  const char* inherited = std::getenv("FBLEPROF_OUT");
  std::string out = inherited != nullptr ? inherited : "";
  for (const auto& [variable, value] : request.environment) {
    if (variable == "FBLEPROF_OUT") out = value;
  }
  // After the run, its profiles are looked for in one folder.
  const bool looks_for_profiles =
      request.names || request.twice || request.windows.every.count() != 0;
  if (const std::string folder = out.substr(0, out.rfind('/') + 1);
      looks_for_profiles && folder.find('%') != std::string::npos) {
    return folder + ": with --names, --runs or --window, only the file's own name may have %";
  }
  for (const auto& [variable, value] : request.environment) {
    if (variable != "FBLEPROF_OUT" || value.find('%') != std::string::npos) continue;
    const fs::path file(value), directory = file.parent_path();
    std::error_code failure;
    if (!directory.empty() && !fs::is_directory(directory, failure)) {
      return directory.string() + ": no such directory";
    }
    if (fs::is_directory(file, failure)) return value + ": is a directory; name a file in it";
  }
  return {};
}

std::uint64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// By an option, or by the environment.
bool records_allocations() { return !is_off(std::getenv("FBLEPROF_ALLOCS")); }

// By default, only together with elapsed time.
bool records_waits() {
  const char* waits = std::getenv("FBLEPROF_WAITS");
  const char* clock = std::getenv("FBLEPROF_CLOCK");
  const std::string_view measured = clock != nullptr ? clock : "";
  return waits != nullptr ? !is_off(waits) && measured != "ticks" : measured == "wall";
}

// AddressSanitizer refuses to run if another library, such as a preloaded one, is loaded before its
// own. The two work together all the same: a call that both intercept goes through both.
void allow_asan_behind_us() {
  const std::string kOption = "verify_asan_link_order=";
  const char* given = std::getenv("ASAN_OPTIONS");
  std::string options = given != nullptr ? given : "";
  const std::size_t last = options.rfind(kOption);
  if (last != std::string::npos && options.compare(last + kOption.size(), 1, "0") == 0) return;
  if (!options.empty()) options += ":";
  setenv("ASAN_OPTIONS", (options + kOption + "0").c_str(), 1);
}

// `fble-prof push ...` is a separate program, installed beside this one, because this one must not
// depend on code that reads profiles. `fble-prof -- push` runs a program that is called push.
int become_push(char** argv) {
  const std::string push = (folder_of_tools() / "fble-prof-push").string();
  execv(push.c_str(), argv + 1);
  return give_up(kCannotRun, push + ": " + std::strerror(errno));
}

// Work of fble-prof during or after the run needs a parent of the program.
int run_and_wait(const std::function<int()>& become_program, const std::string& output,
                 std::uint64_t start_ns, const Request& request) {
  const bool has_windows = request.windows.every.count() != 0;
  const ProgramRun run = has_windows
                             ? run_with_windows(become_program, output, start_ns, request.windows)
                             : run_program(become_program);
  if (run.pid < 0) {
    say(std::string("cannot fork: ") + std::strerror(errno));
    return become_program();
  }
  if (request.names) {
    if (const auto files = profiles_of_run(output, start_ns); !files.empty()) put_names_into(files);
  }
  return leave_like(run.status);
}

}  // namespace

int main(int argc, char** argv) {
  fbleprof::reserve_standard_descriptors();
  if (argc > 1 && std::string_view(argv[1]) == "push") return become_push(argv);
  expect_children();
  if (argc > 1 && std::string_view(argv[1]) == "ctl") return control({argv + 2, argv + argc});
  if (argc > 1 && std::string_view(argv[1]) == "attach") return attach({argv + 2, argv + argc});
  if (argc > 1 && std::string_view(argv[1]) == "detach") return detach({argv + 2, argv + argc});
  if (argc > 1 && std::string_view(argv[1]) == "--plan") return make_plans(argc - 2, argv + 2);
  const Request request = read_request({argv + 1, argv + argc});
  if (!request.error.empty()) {
    return give_up(kWrongUse, request.error + " (fble-prof --help explains the options)");
  }
  if (request.action != Action::kRun) {
    return print(request.action == Action::kHelp ? help() : version());
  }
  if (const std::string obstacle = obstacle_to_output(request); !obstacle.empty()) {
    return give_up(kWrongUse, "--out: " + obstacle);
  }

  const std::string library = find_library();
  if (library.empty()) {
    return give_up(kWrongUse, "libfbleprof.so was not found: install it with fble-prof");
  }
  if (library.find_first_of(": ") != std::string::npos) {
    return give_up(
        kWrongUse,
        library + ": LD_PRELOAD cannot contain a path with a colon or a blank; move the library");
  }

  const std::string& name = request.command.front();
  const Program program = find_program(name, std::getenv("PATH"));
  if (program.path.empty()) return give_up(kNotFound, name + ": not found");
  if (program.error != 0) return give_up(kCannotRun, name + ": " + std::strerror(program.error));

  for (const auto& [variable, value] : request.environment) {
    setenv(variable.c_str(), value.c_str(), 1);
  }
  if (const char* exact = std::getenv("FBLEPROF_EXACT"); !is_off(exact)) {
    const std::string folder = plan_folder();
    if (folder.empty()) {
      return give_up(
          kWrongUse,
          "--exact: no folder for plans; set XDG_CACHE_HOME to a writable folder with 16 MB left");
    }
    setenv("FBLEPROF_EXACT_PLANS", folder.c_str(), 1);
    setenv("FBLEPROF_EXACT_TOOL", own_path().c_str(), 1);
  }
  if (const char* filter = std::getenv("FBLEPROF_FILTER"); filter && *filter) {
    const auto files = prepare_filter(filter);
    if (!files) return give_up(kWrongUse, files.error().line());
    setenv("FBLEPROF_FILTER_TABLES", files->tables.c_str(), 1);
    setenv("FBLEPROF_FILTER_TOOL", files->tool.c_str(), 1);
  }
  // The recorder keeps profiles of this run; this time tells them from the previous run's.
  const std::uint64_t start_ns = realtime_ns();
  setenv("FBLEPROF_RUN", std::to_string(start_ns).c_str(), 1);
  const Obstacle obstacle = obstacle_of(program.path);
  if (obstacle != Obstacle::kNone) say(explain(obstacle, name));
  // In a program of another class, the dynamic linker would complain about the recorder; musl's
  // would end the program. In other programs that cannot be profiled the recorder does no harm, and
  // their children may be profiled.
  if (obstacle != Obstacle::kForeignElf && obstacle != Obstacle::kMusl) {
    const char* before = std::getenv("LD_PRELOAD");
    std::string preload = before != nullptr ? before : "";
    if (records_allocations()) {
      const std::string wrappers = find_beside(library, "libfbleprof_alloc.so");
      if (wrappers.empty()) {
        return give_up(kWrongUse,
                       "libfbleprof_alloc.so was not found beside " + library + ": install it");
      }
      preload = with_preloaded(wrappers, preload.c_str());
      if (const std::string allocator = linked_allocator(program.path); !allocator.empty()) {
        say(name + " has " + allocator +
            " linked into it, whose allocations are not recorded; link it as a shared library");
      }
    }
    const Adapters adapters = adapters_for(program.path, std::getenv("PATH"), library);
    if (!adapters.error.empty()) say(adapters.error + ": functions of scripts are not shown");
    for (const std::string& adapter : adapters.libraries) {
      preload = with_preloaded(adapter, preload.c_str());
    }
    if (!adapters.libraries.empty()) {
      setenv("FBLEPROF_EXACT_EXCEPT", adapters.counted_by_them.c_str(), 1);
    }
    preload = with_preloaded(library, preload.c_str());
    if (records_waits()) {
      const std::string wrappers = find_beside(library, "libfbleprof_wait.so");
      if (wrappers.empty()) {
        return give_up(kWrongUse,
                       "libfbleprof_wait.so was not found beside " + library + ": install it");
      }
      // The wrappers come first: some calls that they wrap are the recorder's.
      preload = with_preloaded(wrappers, preload.c_str());
    }
    setenv("LD_PRELOAD", preload.c_str(), 1);
  }

  if (has_shared_asan(program.path)) allow_asan_behind_us();
  const char* out = std::getenv("FBLEPROF_OUT");
  const std::string output = out && *out ? out : "mlmon.out";
  if (const std::string obstacle = obstacle_of_output(output, name); !obstacle.empty())
    say(obstacle);
  note_directory();

  // execvp, with the name as typed: like shells, it runs scripts that lack a "#!" line.
  char** const command = argv + (argc - static_cast<int>(request.command.size()));
  const auto become_program = [&] {
    // The recorder tells the program from its children by this.
    setenv("FBLEPROF_PROGRAM", std::to_string(getpid()).c_str(), 1);
    give_back_child_signal();
    execvp(name.c_str(), command);
    return give_up(errno == ENOENT ? kNotFound : kCannotRun, name + ": " + std::strerror(errno));
  };
  if (request.twice) return run_twice({become_program, output, start_ns, request.names});
  if (!request.names && request.windows.every.count() == 0) return become_program();
  return run_and_wait(become_program, output, start_ns, request);
}
