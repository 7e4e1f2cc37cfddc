// prove PROOF...: runs proofs of the recorder (tests/proof/proofs.h). Exit status 0: they hold.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/proof/proofs.h"

namespace {

constexpr char kUsage[] =
    "prove [--quick] [--mode MODE] [--only SCENARIO] [--stride N] [--runs N] PROOF...\n"
    "  PROOF: crashes, kills, signals, faults. MODE: the hooks of the test program (fentry, "
    "mcount,\n"
    "  cyg, patchable ...), exact, attached (kills only), sampled, allocations, waits. LIB, "
    "PROGRAMS\n"
    "  and FBLE_PROF name libfbleprof.so, the directory of the test programs and fble-prof.\n";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    fmt::print(stderr, "prove: {} is not set: see prove --help\n", name);
    std::exit(2);
  }
  return value;
}

// A directory for the plans of --exact, which only its owner may write.
class PlansDirectory {
 public:
  PlansDirectory()
      : path_((std::filesystem::temp_directory_path() / "fbleprof-plans.XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::exit(2);
  }
  ~PlansDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PlansDirectory(const PlansDirectory&) = delete;
  PlansDirectory& operator=(const PlansDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace fbleprof::proof;
  Bound bound;
  Setup setup;
  std::string mode = "fentry";
  std::vector<std::string> proofs;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    const auto number = [&] { return static_cast<unsigned>(std::atoi(value().c_str())); };
    if (word == "--quick") {
      bound.quick = true;
    } else if (word == "--mode") {
      mode = value();
    } else if (word == "--only") {
      bound.only = value();
    } else if (word == "--stride") {
      bound.stride = std::max(1u, number());
    } else if (word == "--runs") {
      bound.runs = number();
    } else if (word.starts_with("-")) {
      fmt::print("{}", kUsage);
      return word == "--help" ? 0 : 2;
    } else {
      proofs.push_back(word);
    }
  }
  setup.library = variable("LIB");
  setup.programs = variable("PROGRAMS");
  setup.launcher = variable("FBLE_PROF");
  const PlansDirectory plans;
  setup.plans = plans.path();
  setup.mode = mode_named(mode, setup);
  int problems = 0;
  for (const std::string& proof : proofs) {
    if (proof == "crashes") {
      problems += prove_crashes(setup, bound);
    } else if (proof == "kills") {
      problems += prove_kills(setup, bound);
    } else if (proof == "signals") {
      problems += prove_signals(setup, bound);
    } else if (proof == "faults") {
      problems += prove_faults(setup, bound);
    } else {
      fmt::print(stderr, "prove: {}: no such proof: crashes, kills, signals, faults\n", proof);
      return 2;
    }
  }
  if (proofs.empty()) fmt::print("{}", kUsage);
  if (!bound.only.empty() && !bound.found()) {
    fmt::print(stderr, "prove: --only {}: no such scenario in {}\n", bound.only,
               fmt::join(proofs, ", "));
    return 2;
  }
  return problems != 0 ? 1 : proofs.empty() ? 2 : 0;
}
