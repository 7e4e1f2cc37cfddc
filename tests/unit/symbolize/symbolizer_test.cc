#include "symbolize/symbolizer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/hex.h"
#include "build_sample.h"
#include "symbolize/packages.h"
#include "symbolize/symbol_reader.h"
#include "tests/support/text.h"

namespace fbleprof::symbolize {
namespace {

constexpr char kArea[] = "_ZN6shapes4areaIiEET_S1_";
constexpr char kHidden[] = "_ZL6hiddeni";

Options no_system_debug_files() {
  Options options;
  options.debug_roots.clear();
  return options;
}

Options with_inlines() {
  Options options = no_system_debug_files();
  options.inlines = true;
  return options;
}

FunctionSymbol function_at(const ModuleFile& module, std::uint64_t address,
                           const Options& options = no_system_debug_files()) {
  const std::uint64_t addresses[] = {address};
  const ModuleSymbols symbols = symbolize_module(module, addresses, options);
  return symbols.functions.at(symbols.addresses.at(0).function);
}

std::vector<std::uint64_t> range(std::uint64_t begin, std::uint64_t size) {
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < size; ++i) addresses.push_back(begin + i);
  return addresses;
}

class OfBothCompilers : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!workshop_.run("command -v " + GetParam() + " >/dev/null")) GTEST_SKIP() << "not here";
  }
  Workshop workshop_;
};

INSTANTIATE_TEST_SUITE_P(Symbolizer, OfBothCompilers, testing::Values("g++", "clang++"),
                         [](const auto& info) { return info.param == "g++" ? "Gcc" : "Clang"; });

TEST_P(OfBothCompilers, FunctionsHaveDisplayAndLinkageNames) {
  const std::string file = workshop_.compile(GetParam(), "-O2 -g", "sample");
  const std::uint64_t start = address_of(file, kArea);
  ASSERT_NE(start, 0U);
  const FunctionSymbol area = function_at({file, build_id_of(file)}, start + 1);
  EXPECT_EQ(area.name, "int shapes::area<int>(int)");
  EXPECT_EQ(area.linkage_name, kArea);
  EXPECT_EQ(area.begin, start);
  EXPECT_GT(area.size, 0U);
  EXPECT_EQ(area.origin, NameOrigin::kSymtab);
}

TEST_P(OfBothCompilers, AllAddressesOfAFunctionShareIt) {
  const std::string file = workshop_.compile(GetParam(), "-O2", "sample");
  const std::uint64_t start = address_of(file, kArea);
  const FunctionSymbol area = function_at({file, ""}, start);
  auto addresses = range(start, area.size);
  std::reverse(addresses.begin(), addresses.end());
  const ModuleSymbols symbols = symbolize_module({file, ""}, addresses, no_system_debug_files());
  EXPECT_EQ(symbols.functions.size(), 1U);
  EXPECT_EQ(symbols.addresses.size(), addresses.size());
  EXPECT_EQ(symbols.warning, "");
}

TEST_P(OfBothCompilers, InlinedCallsComeInnermostFirstWithTheirLines) {
  for (const char* debug : {"-g", "-gdwarf-4", "-g -gz"}) {
    const std::string file = workshop_.compile(GetParam(), std::string("-O2 ") + debug, "sample");
    const std::uint64_t start = address_of(file, kArea);
    const FunctionSymbol area = function_at({file, ""}, start);
    const auto addresses = range(start, area.size);
    const ModuleSymbols symbols = symbolize_module({file, ""}, addresses, with_inlines());
    bool deepest_seen = false;
    for (const AddressSymbol& address : symbols.addresses) {
      EXPECT_TRUE(address.file.ends_with("/sample.cc")) << address.file;
      if (address.inlined.size() != 2 || address.inlined[0].line != kLeafLine) continue;
      deepest_seen = true;
      EXPECT_EQ(address.inlined[0].name, "shapes::leaf(int)");
      EXPECT_EQ(address.inlined[0].linkage_name, "_ZN6shapes4leafEi");
      EXPECT_EQ(address.inlined[1].name, "shapes::middle(int)");
      EXPECT_EQ(address.inlined[0].declared_line, kLeafLine - 2);
      EXPECT_TRUE(address.inlined[0].declared_file.ends_with("/sample.cc"));
      EXPECT_EQ(address.inlined[1].line, kMiddleLine);
      EXPECT_EQ(address.line, kAreaLine);
      EXPECT_TRUE(address.inlined[1].file.ends_with("/sample.cc"));
    }
    EXPECT_TRUE(deepest_seen) << debug;
  }
}

// gcc gives an inlined lambda no linkage name.
TEST_P(OfBothCompilers, InlinedLambdasAreDifferentFunctions) {
  workshop_.write("lambdas.cc", R"(
    volatile unsigned x;
    template <class F> inline __attribute__((always_inline)) void run(F f, long n) { f(n); }
    __attribute__((noinline)) void one() {
      run([](long n) { for (long i = 0; i < n; ++i) x = x + i * 3; }, 1500);
      { run([](long n) { for (long i = 0; i < n; ++i) x = x + i * 5; }, 2500); }
    }
    __attribute__((noinline)) void two() {
      run([](long n) { for (long i = 0; i < n; ++i) x = x + i * 7; }, 3500);
    }
    int main() { one(); two(); })");
  ASSERT_TRUE(workshop_.run(GetParam() + " -O2 -g -o lambdas lambdas.cc"));
  const std::string file = workshop_.path("lambdas");
  std::set<std::string> names;
  for (const char* function : {"_Z3onev", "_Z3twov"}) {
    const std::uint64_t start = address_of(file, function);
    const ModuleSymbols symbols = symbolize_module(
        {file, ""}, range(start, function_at({file, ""}, start).size), with_inlines());
    for (const AddressSymbol& address : symbols.addresses) {
      for (const SourceFrame& frame : address.inlined) {
        if (frame.name.find("operator()") != std::string::npos) names.insert(frame.name);
      }
    }
  }
  EXPECT_EQ(names.size(), 3U) << testing::PrintToString(names);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.starts_with("one()::") || name.starts_with("two()::")) << name;
  }
}

TEST_P(OfBothCompilers, LinesAreReadOnlyWhenAskedFor) {
  const std::string file = workshop_.compile(GetParam(), "-O2 -g", "sample");
  const std::uint64_t addresses[] = {address_of(file, kArea)};
  Options options = no_system_debug_files();
  EXPECT_EQ(symbolize_module({file, ""}, addresses, options).addresses[0].file, "");
  options.lines = true;
  const ModuleSymbols symbols = symbolize_module({file, ""}, addresses, options);
  EXPECT_TRUE(symbols.addresses[0].file.ends_with("/sample.cc"));
  EXPECT_GT(symbols.addresses[0].line, 0U);
  EXPECT_TRUE(symbols.functions[0].file.ends_with("/sample.cc"));
  EXPECT_EQ(symbols.functions[0].line, kAreaLine - 2);
  EXPECT_TRUE(symbols.addresses[0].inlined.empty());
}

TEST_P(OfBothCompilers, SplitDwarfIsRead) {
  const std::string file = workshop_.compile(GetParam(), "-O2 -g -gsplit-dwarf", "sample");
  const std::uint64_t start = address_of(file, kArea);
  const ModuleSymbols symbols = symbolize_module(
      {file, ""}, range(start, function_at({file, ""}, start).size), with_inlines());
  EXPECT_TRUE(std::any_of(
      symbols.addresses.begin(), symbols.addresses.end(), [](const AddressSymbol& address) {
        return !address.inlined.empty() && address.inlined[0].name == "shapes::leaf(int)";
      }));
}

TEST_P(OfBothCompilers, AStrippedLibraryIsNamedByItsDynamicSymbols) {
  const std::string file =
      workshop_.compile(GetParam(), "-O2 -shared -fPIC -fvisibility=hidden", "lib.so");
  const std::uint64_t hidden = address_of(file, kHidden);
  const std::uint64_t exported = address_of(file, "exported");
  ASSERT_NE(hidden, 0U);
  ASSERT_TRUE(workshop_.run("strip lib.so"));
  const FunctionSymbol known = function_at({file, ""}, exported + 1);
  EXPECT_EQ(known.name, "exported");
  EXPECT_EQ(known.origin, NameOrigin::kDynsym);
  // Its neighbour has no name, but is a separate function.
  const FunctionSymbol unknown = function_at({file, ""}, hidden + 1);
  EXPECT_EQ(unknown.name, "");
  EXPECT_EQ(unknown.begin, hidden);
  EXPECT_EQ(unknown.origin, NameOrigin::kUnwindTable);
}

TEST_P(OfBothCompilers, PltStubsAreNamedAfterTheirTargets) {
  for (const char* flags :
       {"-O2", "-O2 -Wl,-z,now", "-O2 -Wl,-z,lazy", "-O2 -fcf-protection -Wl,-z,ibtplt",
        "-O2 -fcf-protection -Wl,-z,ibtplt -Wl,-z,now", "-O2 -no-pie"}) {
    const std::string file = workshop_.compile(GetParam(), flags, "sample");
    ASSERT_TRUE(workshop_.run("strip sample"));
    std::set<std::string> names;
    for (const char* section : {".plt", ".plt.sec", ".plt.got"}) {
      for (const FunctionSymbol& function :
           symbolize_module({file, ""}, addresses_in(file, section, 4), no_system_debug_files())
               .functions) {
        EXPECT_TRUE(function.origin == NameOrigin::kPlt || function.name.empty()) << function.name;
        names.insert(function.name);
      }
    }
    EXPECT_TRUE(names.contains("puts@plt")) << flags;
  }
}

TEST_P(OfBothCompilers, MainIsKnownInAStrippedProgram) {
  for (const char* flags : {"-O2", "-O2 -no-pie", "-O2 -fcf-protection"}) {
    const std::string file = workshop_.compile(GetParam(), flags, "sample");
    const std::uint64_t main_address = address_of(file, "main");
    const std::uint64_t start_address = address_of(file, "_start");
    ASSERT_TRUE(workshop_.run("strip sample"));
    const FunctionSymbol main_function = function_at({file, ""}, main_address + 2);
    EXPECT_EQ(main_function.name, "main") << flags;
    EXPECT_EQ(main_function.begin, main_address);
    EXPECT_EQ(main_function.origin, NameOrigin::kStartCode);
    EXPECT_EQ(function_at({file, ""}, start_address + 2).name, "_start");
  }
}

TEST_P(OfBothCompilers, ARebuiltProgramGivesAWarningAndNoNames) {
  const std::string file = workshop_.compile(GetParam(), "-O2 -g", "sample");
  const std::string recorded = build_id_of(file);
  const std::uint64_t addresses[] = {address_of(file, kArea), address_of(file, "main")};
  workshop_.compile(GetParam(), "-O2 -g -DREBUILT -fno-omit-frame-pointer", "sample");
  ASSERT_NE(build_id_of(file), recorded);
  const ModuleSymbols symbols = symbolize_module({file, recorded}, addresses, with_inlines());
  EXPECT_TRUE(test::holds(symbols.warning, "was rebuilt")) << symbols.warning;
  EXPECT_TRUE(test::holds(symbols.warning, file));
  ASSERT_EQ(symbols.functions.size(), 2U);
  for (const FunctionSymbol& function : symbols.functions) {
    EXPECT_EQ(function.name, "");
    EXPECT_EQ(function.origin, NameOrigin::kNone);
  }
  EXPECT_EQ(symbols.functions[symbols.addresses[0].function].begin, addresses[0]);
  EXPECT_EQ(symbols.addresses[0].file, "");
}

TEST(Symbolizer, AMissingProgramGivesAWarningAndOffsets) {
  const std::uint64_t addresses[] = {0x1234, 0x1234, 0x99};
  const ModuleFile module{"/nowhere/at all/prog", ""};
  const ModuleSymbols symbols = symbolize_module(module, addresses, no_system_debug_files());
  EXPECT_EQ(symbols.warning,
            "/nowhere/at all/prog: not found: its functions are shown as module+0xoffset");
  EXPECT_EQ(symbols.functions.size(), 2U);
  EXPECT_EQ(symbols.addresses[0].function, symbols.addresses[1].function);
  EXPECT_EQ(unnamed(module, 0x1234), "prog+0x1234");
}

TEST(Symbolizer, AFileThatIsNotElfGivesAWarning) {
  Workshop workshop;
  const std::uint64_t addresses[] = {0x1234};
  for (const std::string& path :
       {workshop.write("text", "#!/bin/sh\n"), workshop.write("empty", ""), workshop.path(""),
        std::string("/dev/null")}) {
    const ModuleSymbols symbols = symbolize_module({path, ""}, addresses, no_system_debug_files());
    EXPECT_TRUE(test::holds(symbols.warning, "is no ELF file")) << symbols.warning;
  }
  ASSERT_TRUE(workshop.run("mkfifo pipe"));
  EXPECT_NE(symbolize_module({workshop.path("pipe"), ""}, addresses, {}).warning, "");
}

TEST(Symbolizer, AFileWithoutBuildIdThatIsNewerThanTheProfileIsNotTrusted) {
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2 -Wl,--build-id=none", "sample");
  const std::uint64_t addresses[] = {address_of(file, kArea)};
  Options options = no_system_debug_files();
  options.recorded_ns = 1;
  EXPECT_TRUE(test::holds(symbolize_module({file, ""}, addresses, options).warning, "newer"));
  options.recorded_ns = INT64_MAX;
  EXPECT_EQ(symbolize_module({file, ""}, addresses, options).warning, "");
}

TEST(Symbolizer, BuildIdsOfAnyLengthAreRead) {
  Workshop workshop;
  for (const char* id : {"ab", "abcd", "abcdef", "abcdef01", "abcdef0102"}) {
    const std::string file =
        workshop.compile("g++", std::string("-Wl,--build-id=0x") + id, std::string("of_") + id);
    EXPECT_EQ(hex(build_id_of(file)), id);
  }
}

class SeparateDebugFile : public testing::Test {
 protected:
  void SetUp() override {
    file_ = workshop_.compile("g++", "-O2 -g", "sample");
    hidden_ = address_of(file_, kHidden);
    build_id_ = build_id_of(file_);
    ASSERT_TRUE(workshop_.run("objcopy --only-keep-debug sample sample.debug"));
    ASSERT_TRUE(workshop_.run("strip sample"));
    options_ = with_inlines();
    options_.debug_roots = {workshop_.path("debug")};
  }

  void install(const std::string& debug_file, const std::string& build_id) const {
    const std::string name = hex(build_id);
    const std::string directory = "debug/.build-id/" + name.substr(0, 2);
    ASSERT_TRUE(workshop_.run("mkdir -p " + directory + " && cp " + debug_file + " " + directory +
                              "/" + name.substr(2) + ".debug"));
  }

  void expect_named() const {
    const std::uint64_t addresses[] = {hidden_};
    const ModuleSymbols symbols = symbolize_module({file_, build_id_}, addresses, options_);
    EXPECT_EQ(symbols.warning, "");
    EXPECT_EQ(symbols.functions[0].linkage_name, kHidden);
    EXPECT_TRUE(symbols.addresses[0].file.ends_with("/sample.cc"));
  }
  void expect_unnamed() const {
    EXPECT_EQ(function_at({file_, build_id_}, hidden_, options_).name, "");
  }

  Workshop workshop_;
  std::string file_, build_id_;
  std::uint64_t hidden_ = 0;
  Options options_;
};

TEST_F(SeparateDebugFile, IsFoundByBuildId) {
  expect_unnamed();
  install("sample.debug", build_id_);
  expect_named();
}

TEST_F(SeparateDebugFile, IsFoundByDebugLinkInEachOfItsPlaces) {
  ASSERT_TRUE(workshop_.run("objcopy --add-gnu-debuglink=sample.debug sample"));
  expect_named();
  ASSERT_TRUE(workshop_.run("mkdir .debug && mv sample.debug .debug/"));
  expect_named();
  ASSERT_TRUE(workshop_.run("mkdir -p debug/$PWD && mv .debug/sample.debug debug/$PWD/"));
  expect_named();
  ASSERT_TRUE(workshop_.run("rm debug/$PWD/sample.debug"));
  expect_unnamed();
}

TEST_F(SeparateDebugFile, OfAnotherBuildIsNotUsed) {
  workshop_.compile("g++", "-O1 -g", "other");
  install("other", build_id_);
  expect_unnamed();
  ASSERT_TRUE(
      workshop_.run("objcopy --add-gnu-debuglink=sample.debug sample && cp other sample.debug"));
  expect_unnamed();
}

TEST_F(SeparateDebugFile, WithoutBuildIdMustHaveTheChecksumOfTheLink) {
  ASSERT_TRUE(
      workshop_.run("objcopy -R .note.gnu.build-id sample.debug && "
                    "objcopy -R .note.gnu.build-id sample && "
                    "objcopy --add-gnu-debuglink=sample.debug sample"));
  build_id_.clear();
  expect_named();
  ASSERT_TRUE(workshop_.run("printf x >> sample.debug"));
  expect_unnamed();
}

TEST_F(SeparateDebugFile, NamesAProgramThatIsGone) {
  install("sample.debug", build_id_);
  ASSERT_TRUE(workshop_.run("rm sample"));
  expect_named();
}

TEST_F(SeparateDebugFile, EmbeddedInTheProgramGivesNames) {
  ASSERT_TRUE(
      workshop_.run("strip -g -o mini sample.debug && xz -f mini && "
                    "objcopy --add-section .gnu_debugdata=mini.xz sample"));
  EXPECT_EQ(function_at({file_, build_id_}, hidden_, options_).linkage_name, kHidden);
  ASSERT_TRUE(
      workshop_.run("head -c 100 mini.xz >cut && objcopy --update-section "
                    ".gnu_debugdata=cut sample"));
  expect_unnamed();
}

TEST_F(SeparateDebugFile, IsFetchedFromTheServersOfDebuginfodIfAllowed) {
  const std::string id = hex(build_id_);
  ASSERT_TRUE(workshop_.run("mkdir -p www/buildid/" + id + " && cp sample.debug www/buildid/" + id +
                            "/debuginfo"));
  ASSERT_TRUE(workshop_.run(
      "(timeout 60 python3 -u -m http.server 0 -b 127.0.0.1 -d www >port 2>log & echo $! >pid); "
      "for i in $(seq 100); do grep -q port port && break; sleep 0.1; done; "
      "sed -i 's/.*port \\([0-9]*\\).*/\\1/' port"));
  std::ifstream file(workshop_.path("port"));
  std::string port;
  file >> port;
  setenv("DEBUGINFOD_URLS", ("http://127.0.0.1:" + port).c_str(), 1);
  setenv("DEBUGINFOD_CACHE_PATH", workshop_.path("cache").c_str(), 1);
  expect_unnamed();
  options_.ask_debuginfod = true;
  expect_named();
  unsetenv("DEBUGINFOD_URLS");
  unsetenv("DEBUGINFOD_CACHE_PATH");
  workshop_.run("kill $(cat pid)");
}

TEST(Packages, DpkgListsShowWhichPackageInstalledAFile) {
  Workshop workshop;
  workshop.write("libbz2-1.0:amd64.list", "/.\n/lib\n/lib/libbz2.so.1.0\n");
  workshop.write("bzip2.list", "/bin/bzip2\n");
  EXPECT_EQ(packages_of({"/usr/lib/libbz2.so.1.0", "/bin/bzip2", "/opt/x"}, workshop.path(".")),
            (std::vector<std::string>{"libbz2-1.0", "bzip2", ""}));
  EXPECT_EQ(debug_package_of("libc6"), "libc6-dbg");
  EXPECT_EQ(debug_package_of("bzip2"), "bzip2-dbgsym");
}

TEST(Symbolizer, DebuginfodIsNotAsked) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  setenv("DEBUGINFOD_URLS", url.c_str(), 1);

  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2 -g", "sample");
  const std::uint64_t hidden = address_of(file, kHidden);
  ASSERT_TRUE(workshop.run("strip sample"));
  Options options = with_inlines();
  options.debug_roots = {"/usr/lib/debug"};
  EXPECT_EQ(function_at({file, build_id_of(file)}, hidden, options).name, "");
  EXPECT_LT(accept(listener, nullptr, nullptr), 0);
  unsetenv("DEBUGINFOD_URLS");
  close(listener);
}

TEST(Symbolizer, TheVdsoIsNamedIfItIsTheSame) {
  const unsigned long image = getauxval(AT_SYSINFO_EHDR);
  if (image == 0) GTEST_SKIP() << "no vDSO";
  auto object = ElfObject::from_memory(reinterpret_cast<char*>(image), 2 * 4096);
  ASSERT_TRUE(object);
  const std::vector<RawSymbol> symbols = read_symbols(*object);
  const auto found = std::find_if(symbols.begin(), symbols.end(), [](const RawSymbol& symbol) {
    return symbol.name.starts_with("__vdso_");
  });
  ASSERT_NE(found, symbols.end());
  const ModuleFile same{"[vdso]", object->build_id(), true};
  EXPECT_EQ(function_at(same, found->begin).name, found->name);
  EXPECT_EQ(function_at({"[vdso]", "another kernel", true}, found->begin).name, "");
  EXPECT_EQ(function_at({"[vdso]", "", true}, found->begin).name, "");
}

TEST(Symbolizer, PartsOfAFunctionKeepTheirLinkageNameAndShareItsDisplayName) {
  Workshop workshop;
  workshop.write("cold.cc",
                 "#include <stdexcept>\n"
                 "volatile int x;\n"
                 "[[gnu::noinline]] int f(int a) { if (a > x) throw std::runtime_error(\"no\"); "
                 "return a + x; }\n"
                 "int main(int c, char**) { return f(c); }\n");
  ASSERT_TRUE(workshop.run("g++ -O2 -freorder-blocks-and-partition cold.cc -o cold"));
  const std::string file = workshop.path("cold");
  const std::uint64_t cold = address_of(file, "_Z1fi.cold");
  ASSERT_NE(cold, 0U);
  const FunctionSymbol part = function_at({file, ""}, cold);
  EXPECT_EQ(part.name, "f(int)");
  EXPECT_EQ(part.linkage_name, "_Z1fi.cold");
}

TEST(Symbolizer, AssemblerFunctionsWithoutSizeAreNamed) {
  Workshop workshop;
  workshop.write("code.s",
                 ".text\n.globl first\n.type first,@function\nfirst: nop\nnop\nret\n"
                 ".globl second\nsecond: nop\nret\n.section .note.GNU-stack,\"\",@progbits\n");
  ASSERT_TRUE(workshop.run("gcc -shared -nostdlib code.s -o code.so && strip code.so"));
  const std::string file = workshop.path("code.so");
  const std::uint64_t first = address_of(file, "first");
  const std::uint64_t second = address_of(file, "second");
  ASSERT_EQ(second, first + 3);
  EXPECT_EQ(function_at({file, ""}, first + 2).name, "first");
  EXPECT_EQ(function_at({file, ""}, second + 1).name, "second");
  EXPECT_EQ(function_at({file, ""}, second + 1).begin, second);
}

TEST(Symbolizer, TablesAreCachedByBuildId) {
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2", "sample");
  const std::uint64_t area = address_of(file, kArea);
  std::map<std::string, std::size_t> kept;
  Options options = no_system_debug_files();
  options.keep_table = [&](const std::string& build_id, const SymbolTable& table, bool) {
    kept[build_id] = table.functions().size();
  };
  EXPECT_EQ(function_at({file, ""}, area, options).linkage_name, kArea);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_GT(kept[build_id_of(file)], 3U);
  options.find_table = [&](const std::string&) {
    return SymbolTable::build({{.begin = area,
                                .size = 8,
                                .limit = area + 8,
                                .name = "from_the_cache",
                                .origin = NameOrigin::kSymtab,
                                .is_function = true,
                                .is_local = false,
                                .is_weak = false}},
                              {});
  };
  EXPECT_EQ(function_at({file, ""}, area, options).linkage_name, "from_the_cache");
}

TEST(Symbolizer, LinesOfLargeDebugInfoAreCached) {
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2 -g", "sample");
  const std::uint64_t address = address_of(file, kArea);
  std::map<std::string, std::string> kept;
  Options options = no_system_debug_files();
  options.lines = true;
  options.find_lines = [&](const std::string& key) {
    const auto it = kept.find(key);
    return it == kept.end() ? std::nullopt : KnownLines::from_bytes(it->second);
  };
  options.keep_lines = [&](const std::string& key, const KnownLines& lines) {
    kept[key] = lines.to_bytes();
  };
  const std::uint64_t one[] = {address}, two[] = {address, address + 1};
  const AddressSymbol asked = symbolize_module({file, ""}, one, options).addresses[0];
  EXPECT_TRUE(kept.empty());  // it is small

  options.large_debug_info = 1;
  symbolize_module({file, ""}, one, options);
  ASSERT_EQ(kept.size(), 1U);
  const std::string first = kept.begin()->second;
  const AddressSymbol known = symbolize_module({file, ""}, one, options).addresses[0];
  EXPECT_NE(known.line, 0U);
  EXPECT_EQ(known.line, asked.line);
  EXPECT_EQ(known.file, asked.file);
  EXPECT_EQ(kept.begin()->second, first);

  symbolize_module({file, ""}, two, options);
  EXPECT_GT(kept.begin()->second.size(), first.size());
  options.inlines = true;
  symbolize_module({file, ""}, one, options);
  EXPECT_EQ(kept.size(), 2U);
}

TEST(Symbolizer, RemovedBuildIsNamedFromTheCache) {
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2", "sample");
  const std::uint64_t area = address_of(file, kArea);
  std::map<std::string, std::string> kept;
  Options options = no_system_debug_files();
  options.keep_table = [&](const std::string& key, const SymbolTable& table, bool is_own) {
    EXPECT_TRUE(is_own);
    kept[key] = table.to_bytes();
  };
  options.find_table = [&](const std::string& key) {
    const auto it = kept.find(key);
    return it == kept.end() ? std::nullopt : SymbolTable::from_bytes(it->second);
  };
  const ModuleFile recorded{file, build_id_of(file), false, true};
  EXPECT_EQ(function_at(recorded, area, options).linkage_name, kArea);
  std::filesystem::remove(file);
  const std::uint64_t addresses[] = {area};
  ModuleSymbols symbols = symbolize_module(recorded, addresses, options);
  EXPECT_EQ(symbols.functions[0].linkage_name, kArea);
  EXPECT_EQ(symbols.warning, "");
  options.lines = true;
  symbols = symbolize_module(recorded, addresses, options);
  EXPECT_TRUE(test::holds(symbols.warning, "its lines are not"));
  kept.clear();
  symbols = symbolize_module(recorded, addresses, options);
  EXPECT_EQ(symbols.functions[0].name, "");
  EXPECT_TRUE(test::holds(symbols.warning, "before you rebuild"));
}

TEST(Symbolizer, ProgressOnlyGrowsAndStaysWithinItsTotal) {
  struct Log : Progress {
    void update(std::string_view, std::uint64_t done, std::uint64_t total) override {
      EXPECT_GE(done, last);
      EXPECT_LE(done, total);
      last = done;
      ++calls;
    }
    std::uint64_t last = 0;
    int calls = 0;
  } log;
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2 -g", "sample");
  Options options = with_inlines();
  options.progress = &log;
  symbolize_module({file, ""}, range(address_of(file, kArea), 40), options);
  EXPECT_GT(log.calls, 1);
}

TEST(Symbolizer, SurvivesDamagedFiles) {
  Workshop workshop;
  const std::string file = workshop.compile("g++", "-O2 -g", "sample");
  std::ifstream stream(file, std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(stream)), {});
  const auto addresses = range(address_of(file, kArea), 64);
  std::uint64_t random = 88172645463325252ULL;
  const auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    if (round % 4 == 0) bad.resize(next() % bad.size());
    for (int flips = round % 8; flips > 0 && !bad.empty(); --flips) {
      bad[next() % bad.size()] = static_cast<char>(next());
    }
    // Damage in the section headers, at the end.
    if (round % 4 == 1) bad[bad.size() - 1 - next() % 2000] = static_cast<char>(next());
    const std::string path = workshop.write("bad", bad);
    const ModuleSymbols symbols = symbolize_module({path, ""}, addresses, with_inlines());
    EXPECT_EQ(symbols.addresses.size(), addresses.size());
    for (const AddressSymbol& address : symbols.addresses) {
      EXPECT_LT(address.function, symbols.functions.size());
    }
  }
}

}  // namespace
}  // namespace fbleprof::symbolize
