#include "tests/proof/scenario.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "profile/reader.h"
#include "profile/verify.h"

namespace fbleprof::proof {

namespace fs = std::filesystem;

Mode mode_named(const std::string& name, const Setup& setup) {
  const auto beside = [&](const char* library) {
    return (fs::path(setup.library).parent_path() / library).string();
  };
  const std::vector<std::string> exact = {"FBLEPROF_EXACT=on",
                                          "FBLEPROF_EXACT_PLANS=" + setup.plans,
                                          "FBLEPROF_EXACT_TOOL=" + setup.launcher};
  const Mode others[] = {
      {"exact", "plain", exact},
      {.name = "attached", .program = "plain", .is_attached = true},
      {.name = "sampled", .program = "plain", .is_counted = false},
      {"allocations", "fentry", {"FBLEPROF_ALLOCS=exact"}, {beside("libfbleprof_alloc.so")}},
      {"waits", "fentry", {"FBLEPROF_WAITS=1"}, {beside("libfbleprof_wait.so")}},
  };
  for (const Mode& mode : others) {
    if (mode.name == name) return mode;
  }
  return {name, name};
}

Run::Run(const Setup& setup, const Scenario& scenario) : setup_(setup), scenario_(scenario) {
  std::string name = (fs::temp_directory_path() / "fbleprof-proof.XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    fmt::print(stderr, "{}: cannot be made\n", name);
    std::exit(2);
  }
  directory_ = name;
}

Run::~Run() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::vector<std::string> Run::arguments() const {
  return {setup_.programs + "/steps." + mode().program, path_of("counts"), scenario_.name,
          setup_.programs + "/first.fentry"};
}

std::vector<std::string> Run::environment(bool profiled) const {
  std::vector<std::string> all = {"PATH=/usr/bin:/bin", "HOME=" + directory_,
                                  "GMON_OUT_PREFIX=" + directory_ + "/gmon"};
  if (!profiled) return all;
  std::string preload = "LD_PRELOAD=" + setup_.library;
  for (const std::string& library : mode().libraries) preload += ":" + library;
  all.push_back(preload);
  all.push_back("FBLEPROF_OUT=" + path_of("mlmon.out"));
  all.push_back("FBLEPROF_VERBOSE=1");
  all.insert(all.end(), mode().settings.begin(), mode().settings.end());
  all.insert(all.end(), scenario_.settings.begin(), scenario_.settings.end());
  return all;
}

void Run::become(bool profiled) const {
  personality(ADDR_NO_RANDOMIZE);
  if (chdir(directory_.c_str()) != 0) _exit(98);
  const int out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int err = open("err", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  close_range(3, ~0u, 0);
  auto words = arguments(), variables = environment(profiled);
  std::vector<char*> argv, envp;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) envp.push_back(variable.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  execve(argv[0], argv.data(), envp.data());
  _exit(98);
}

std::string Run::text_of(const std::string& file) const {
  std::ifstream in(path_of(file), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Run::profiles() const {
  std::vector<std::string> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(directory_, gone)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("mlmon.out") && !name.ends_with(".new")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string End::shown() const {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
         : status < 0        ? "no end"
                             : fmt::format("exit {}, {:?}", WEXITSTATUS(status), out);
}

End plain_end(const Setup& setup, const Scenario& scenario) {
  Run run(setup, scenario);
  const pid_t pid = fork();
  if (pid == 0) run.become(false);
  int status = 0;
  waitpid(pid, &status, 0);
  return {status, run.text_of("out")};
}

namespace {

using namespace profile;

// Adds the calls of the program's functions.
void add_calls(const Profile& profile, const Counted& counted, std::uint64_t* calls) {
  const Functions& functions = profile.functions();
  const Edges& edges = profile.edges();
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const FunctionId function = profile.nodes().function[edges.to[e].index()];
    const std::uint64_t address = functions.address[function.index()];
    if (functions.kind[function.index()] != FunctionKind::kNative) continue;
    for (int i = 0; i < Counted::kFunctions; ++i) {
      if (counted.address[i] == address) calls[i] += edges.calls[e];
    }
  }
}

// The number of calls between two functions of the program that never call each other: each of
// even() and odd() calls only the other.
std::uint64_t false_calls(const Profile& profile, const Counted& counted) {
  const Functions& functions = profile.functions();
  const Edges& edges = profile.edges();
  const auto address_of = [&](NodeId node) {
    return functions.address[profile.nodes().function[node.index()].index()];
  };
  std::uint64_t calls = 0;
  for (std::size_t e = 0; e < edges.count(); ++e) {
    const std::uint64_t callee = address_of(edges.to[e]);
    if (callee != counted.address[Counted::kEven] && callee != counted.address[Counted::kOdd])
      continue;
    if (address_of(edges.from[e]) == callee) calls += edges.calls[e];
  }
  return calls;
}

bool counts_a_loss(const Profile& profile) {
  for (const Process& process : profile.processes()) {
    if (process.lost_threads + process.lost_children + process.overflow_contexts != 0) return true;
  }
  const auto& threads = profile.threads();
  return std::any_of(threads.begin(), threads.end(), [](const Thread& thread) {
    return thread.lost_calls + thread.deep_calls != 0;
  });
}

// The profile, if it is without fault.
void examine_one(const Image& image, const Counted& counted, bool is_stepped, Findings& findings,
                 std::uint64_t* calls) {
  const auto problem = [&](const std::string& what) {
    findings.problems.push_back(image.name + ": " + what);
  };
  const auto file = FileImage::from_bytes(image.bytes, image.name);
  if (!file) return problem(file.error().line());
  ReadOptions how;
  how.look_for_process = false;
  const ReadResult read = read_image(*file, how);
  if (read.damage.any()) {
    problem(fmt::format("damage: {} beyond the end, {} other: {}", read.damage.beyond_end,
                        read.damage.other, read.damage.first_what));
  }
  for (const Check& check : verify(*file, read)) {
    const bool is_clock = check.what.find("add up to its clock") != std::string::npos ||
                          check.what.find("are the elapsed time") != std::string::npos;
    if (!check.ok && !(is_clock && is_stepped))
      problem(fmt::format("not true: {}: {}", check.what, check.detail));
  }
  findings.is_counted |= counts_a_loss(read.profile);
  for (const Process& process : read.profile.processes()) {
    for (const StringId note : process.notes) findings.notes.emplace(read.profile.text(note));
  }
  add_calls(read.profile, counted, calls);
  if (const std::uint64_t found = false_calls(read.profile, counted)) {
    problem(fmt::format("{} calls between functions that do not call each other", found));
  }
}

}  // namespace

Findings examine(const std::vector<Image>& images, const Truth& truth, bool is_stepped) {
  Findings findings;
  std::uint64_t calls[Counted::kFunctions] = {};
  for (const Image& image : images) examine_one(image, truth.most, is_stepped, findings, calls);
  for (int i = 0; i < Counted::kFunctions; ++i) {
    if (calls[i] < truth.least.calls[i]) findings.missing += truth.least.calls[i] - calls[i];
    if (calls[i] > truth.most.calls[i]) {
      findings.more = std::max(findings.more, calls[i] - truth.most.calls[i]);
    }
  }
  findings.is_told = findings.is_counted || !findings.notes.empty();
  findings.is_whole = findings.missing == 0;
  if (findings.more > truth.in_flight) {
    findings.problems.push_back(fmt::format("{} calls more than were made", findings.more));
  }
  return findings;
}

Charged charged_of(const Image& image) {
  Charged charged;
  const auto file = FileImage::from_bytes(image.bytes, image.name);
  if (!file) return charged;
  ReadOptions how;
  how.look_for_process = false;
  const Profile profile = read_image(*file, how).profile;
  charged.pid = profile.processes().front().pid;
  for (const Role role : {Role::kCpuTime, Role::kOwnCost}) {
    const Metric* metric = profile.find_metric(role);
    for (std::size_t n = 0; metric && n < profile.nodes().count(); ++n) {
      charged.ns += metric->value(NodeId(n));
    }
  }
  for (const Thread& thread : profile.threads()) {
    charged.threads_running += thread.end_ns == 0;
  }
  return charged;
}

namespace {

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

}  // namespace

std::vector<Image> images_of(const Run& run) {
  std::vector<Image> images;
  for (const std::string& path : run.profiles()) {
    // A killed program's file is as large as its limit, and mostly a hole.
    const auto file = FileImage::load(path);
    if (!file) {
      images.push_back({fs::path(path).filename(), bytes_of(path)});
      continue;
    }
    std::vector<std::byte> bytes(file->size());
    file->read(bytes.data(), bytes.size(), 0);
    images.push_back({fs::path(path).filename(), std::move(bytes)});
  }
  return images;
}

Counted counted_of(const Run& run) {
  Counted counted{};
  const std::string text = run.text_of("counts");
  std::memcpy(&counted, text.data(), std::min(text.size(), sizeof counted));
  return counted;
}

Truth truth_of(const Run& run, unsigned in_flight) {
  const Counted counted = counted_of(run);
  if (run.mode().is_counted) return {counted, counted, in_flight};
  return {{}, counted, ~0u};
}

}  // namespace fbleprof::proof
