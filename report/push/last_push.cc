#include "report/push/last_push.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "transform/window.h"

namespace fbleprof::push {

using namespace profile;

namespace {

constexpr std::string_view kFirstLine = "fbleprof-push 1";

// FNV-1a: stable from one run of the tool to the next, which std::hash need not be.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<unsigned char>(value >> (8 * i)));
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

// By node: a hash of its path.
std::vector<std::uint64_t> path_hashes(const Profile& profile) {
  const Functions& functions = profile.functions();
  std::vector<std::uint64_t> of_function(functions.count());
  for (std::size_t f = 0; f < functions.count(); ++f) {
    Hash hash;
    if (const ModuleId module = functions.module[f]) {
      hash.add(profile.text(profile.modules()[module.index()].path));
    }
    hash.add(profile.text(functions.name[f]));
    hash.add(functions.address[f]);
    hash.add(static_cast<std::uint64_t>(functions.kind[f]));
    of_function[f] = hash.value();
  }
  const Nodes& nodes = profile.nodes();
  std::vector<std::uint64_t> hashes(nodes.count());
  for (std::size_t n = 0; n < nodes.count(); ++n) {
    Hash hash;
    if (const NodeId parent = nodes.parent[n]) hash.add(hashes[parent.index()]);
    hash.add(of_function[nodes.function[n].index()]);
    hashes[n] = hash.value();
  }
  return hashes;
}

}  // namespace

std::uint64_t run_of(const Profile& profile) {
  Hash hash;
  for (const Process& process : profile.processes()) {
    hash.add(process.start_realtime_ns);
    hash.add(process.pid);
  }
  return hash.value();
}

LastPush snapshot(const Profile& profile, std::uint64_t until_ns) {
  LastPush now;
  now.run = run_of(profile);
  now.until_ns = until_ns;
  for (const Metric& metric : profile.metrics()) now.metrics.push_back(metric.name);
  const std::vector<std::uint64_t> hashes = path_hashes(profile);
  for (std::size_t n = 0; n < hashes.size(); ++n) {
    std::vector<std::uint64_t> values;
    bool any = false;
    for (const Metric& metric : profile.metrics()) {
      values.push_back(metric.value(NodeId(n)));
      any |= values.back() != 0;
    }
    if (any) now.values[hashes[n]] = std::move(values);
  }
  return now;
}

Profile without_levels(const Profile& profile) {
  Parts parts = profile.parts();
  std::erase_if(parts.metrics, [](const Metric& metric) { return !transform::adds_up(metric); });
  return Profile(std::move(parts));
}

Profile since(const Profile& profile, const LastPush& last) {
  if (last.run != run_of(profile) || last.metrics.size() != profile.metrics().size()) {
    return profile;
  }
  for (std::size_t m = 0; m < last.metrics.size(); ++m) {
    if (profile.metrics()[m].name != last.metrics[m]) return profile;
  }
  const std::vector<std::uint64_t> hashes = path_hashes(profile);
  Parts parts = profile.parts();
  for (std::size_t m = 0; m < parts.metrics.size(); ++m) {
    if (!transform::adds_up(parts.metrics[m]) || !parts.metrics[m].values) continue;
    auto values = std::make_shared<Counts>(*parts.metrics[m].values);
    for (std::size_t n = 0; n < values->size(); ++n) {
      const auto before = last.values.find(hashes[n]);
      if (before == last.values.end()) continue;
      // A symbol that became known meanwhile can move a context: then it counts as new.
      const std::uint64_t sent = before->second[m];
      const std::uint64_t held = (*values)[n];
      values->set(n, held > sent ? held - sent : 0);
    }
    parts.metrics[m].values = std::move(values);
  }
  return Profile(std::move(parts));
}

Result<std::string> state_path(const std::string& profile, const std::string& url) {
  std::filesystem::path directory;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') {
    directory = state;
  } else if (home != nullptr && *home == '/') {
    directory = std::filesystem::path(home) / ".local" / "state";
  } else {
    return Error{"", std::nullopt, "no place for what --since-last has to remember",
                 "set XDG_STATE_HOME or HOME"};
  }
  std::error_code failure;
  Hash hash;
  const std::filesystem::path whole = std::filesystem::absolute(profile, failure);
  hash.add(std::filesystem::weakly_canonical(whole, failure).string());
  hash.add(url);
  return (directory / "fbleprof" / fmt::format("push-{:016x}", hash.value())).string();
}

LastPush read_state(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  LastPush state;
  if (!std::getline(file, line) || line != kFirstLine) return {};
  std::size_t contexts = 0;
  if (!std::getline(file, line)) return {};
  std::istringstream head(line);
  if (!(head >> state.run >> state.until_ns >> contexts)) return {};
  for (std::string name; head >> name;) state.metrics.push_back(name);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::uint64_t path_hash = 0;
    std::vector<std::uint64_t> values(state.metrics.size());
    if (!(words >> path_hash)) return {};
    for (std::uint64_t& value : values) {
      if (!(words >> value)) return {};
    }
    state.values[path_hash] = std::move(values);
  }
  return state.values.size() == contexts ? state : LastPush();
}

Status write_state(const std::string& path, const LastPush& state) {
  const auto failed = [&](const std::string& why) {
    return Error{path, std::nullopt, "cannot remember what was sent: " + why,
                 "the next push with --since-last sends it again"};
  };
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failure);
  if (failure) return failed(failure.message());
  const std::string scratch = fmt::format("{}.{}", path, getpid());
  {
    std::ofstream file(scratch);
    file << kFirstLine << '\n' << state.run << ' ' << state.until_ns << ' ' << state.values.size();
    for (const std::string& name : state.metrics) file << ' ' << name;
    file << '\n';
    for (const auto& [path_hash, values] : state.values) {
      file << path_hash;
      for (const std::uint64_t value : values) file << ' ' << value;
      file << '\n';
    }
    file.close();
    if (!file) {
      std::filesystem::remove(scratch, failure);
      return failed(std::strerror(errno));
    }
  }
  std::filesystem::rename(scratch, path, failure);
  if (failure) return failed(failure.message());
  return {};
}

}  // namespace fbleprof::push
