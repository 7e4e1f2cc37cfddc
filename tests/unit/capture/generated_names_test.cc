// Names of generated code: what its three sources say, also when they are damaged or another's.
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "capture/gdb_jit.h"
#include "capture/generated_functions.h"
#include "capture/jitdump.h"
#include "capture/perf_map.h"
#include "capture/profile.h"
#include "format/jitdump.h"
#include "signal_safe/generated_code.h"
#include "signal_safe/session.h"
#include "tests/support/no_resources.h"

// GDB's interface; the program exports it.
struct JitDescriptor {
  std::uint32_t version, action;
  std::uint64_t relevant_entry, first_entry;
};
extern "C" __attribute__((visibility("default"))) JitDescriptor __jit_debug_descriptor;
JitDescriptor __jit_debug_descriptor = {1, 0, 0, 0};

namespace fbleprof::capture {
namespace {

namespace fs = std::filesystem;
namespace jitdump = format::jitdump;
using format::Function;
using format::FunctionKind;
using signal_safe::session;
using test::NoMemory;

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

void start_session() {
  constexpr std::uint64_t kBytes = 16 << 20;
  static bool is_started = false;
  if (is_started) return;
  is_started = true;
  void* file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(file, MAP_FAILED);
  static_cast<format::Header*>(file)->used_bytes = format::kHeaderBytes;
  ASSERT_TRUE(session.start(static_cast<char*>(file), kBytes, kBytes, {}));
}

class GeneratedNames : public testing::Test {
 protected:
  GeneratedNames() {
    start_session();
    char map[signal_safe::kMapPathBytes];
    signal_safe::write_map_path(map);
    map_ = map;
    dump_ = "jit-" + std::to_string(getpid()) + ".dump";
    home_ = fs::temp_directory_path() / ("generated_names." + std::to_string(getpid()));
    fs::create_directories(home_);
    setenv("HOME", home_.c_str(), 1);
    before_ = fs::current_path();
    fs::current_path(home_);
  }
  ~GeneratedNames() override {
    fs::current_path(before_);
    fs::remove_all(home_);
    fs::remove(map_);
    fs::remove("/tmp/" + dump_);
    unsetenv("JITDUMPDIR");
    session.arena.header()->start_realtime_ns = 0;
    profile.perf_allowed = true;
    __jit_debug_descriptor.first_entry = 0;
    // The next test begins without nameless functions.
    for (Function* function : made_) function->kind = FunctionKind::kBlock;
  }

  // A sample of generated code at this address was recorded.
  Function* sampled(std::uint64_t address, FunctionKind kind = FunctionKind::kNative) {
    const format::Ref ref = session.arena.allocate(sizeof(Function));
    EXPECT_NE(ref, 0u);
    auto* function = session.arena.at<Function>(ref);
    function->address = address;
    function->kind = kind;
    session.arena.publish(ref, format::Kind::kFunction);
    made_.push_back(function);
    return function;
  }
  static std::string text(format::Ref ref) {
    if (ref == 0) return "";
    const auto* string = session.arena.at<format::String>(ref);
    return std::string(string->bytes, string->length);
  }
  static std::string name(const Function* function) { return text(function->name); }

  void write_map(const std::string& lines) const { std::ofstream(map_, std::ios::binary) << lines; }
  static void name_from_map() {
    GeneratedFunctions functions;
    name_by_perf_map(functions);
  }
  static void name_from_dump() {
    GeneratedFunctions functions;
    name_by_jitdump(functions);
  }
  static void name_from_gdb() {
    GeneratedFunctions functions;
    name_by_gdb_interface(functions);
  }

  std::string map_, dump_;
  fs::path home_, before_;
  std::vector<Function*> made_;
};

TEST_F(GeneratedNames, OfThePerfMapsLinesThatAreWellFormed) {
  Function* first = sampled(0x1000);
  Function* inside = sampled(0x2010);
  Function* upper = sampled(0xabc0);
  Function* last = sampled(0x7000);
  std::vector<Function*> nameless = {sampled(0x3000), sampled(0x4000), sampled(0x5000),
                                     sampled(0x6000), sampled(0x8000)};
  write_map(
      "1000 10 first one\n0x2000 0x20 second\nABC0 10 upper\nxyz 10 none\n3000\n4000 g none\n"
      "\n00000000000005000 10 seventeen digits\n6000 10 \n8000 0 empty\n7000 10 last");
  name_from_map();
  EXPECT_EQ(name(first), "first one");
  EXPECT_EQ(first->kind, FunctionKind::kJit);
  EXPECT_EQ(first->size, 0x10u);
  EXPECT_EQ(name(inside), "second");
  EXPECT_EQ(inside->address, 0x2000u) << "it is the function now, not the sample";
  EXPECT_EQ(name(upper), "upper");
  EXPECT_EQ(name(last), "last") << "the line has no end";
  for (const Function* each : nameless) EXPECT_EQ(name(each), "");
}

TEST_F(GeneratedNames, OfAPerfMapOfThisUserAndThisRunOnly) {
  Function* function = sampled(0x1000);
  name_from_map();
  EXPECT_EQ(name(function), "") << "there is no map";
  std::ofstream(home_ / "other.map") << "1000 10 of a link\n";
  fs::create_symlink(home_ / "other.map", map_);
  name_from_map();
  EXPECT_EQ(name(function), "") << "links are not followed";
  fs::remove(map_);
  fs::create_directory(map_);
  name_from_map();
  EXPECT_EQ(name(function), "");
  fs::remove(map_);
  write_map("1000 10 earlier\n");
  session.arena.header()->start_realtime_ns = (std::uint64_t{1} << 34) * 1'000'000'000;
  name_from_map();
  EXPECT_EQ(name(function), "") << "it is older than the run";
  session.arena.header()->start_realtime_ns = 0;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(map_.c_str(), 12345, 12345), 0);
    name_from_map();
    EXPECT_EQ(name(function), "") << "another user's";
    ASSERT_EQ(chown(map_.c_str(), 0, 0), 0);
  }
  name_from_map();
  EXPECT_EQ(name(function), "earlier");
}

TEST_F(GeneratedNames, LongOnesAreCut) {
  Function* function = sampled(0x1000);
  Function* after = sampled(0x2000);
  const std::string lines = "1000 10 " + std::string(70'000, 'n') + "\n2000 10 after\n";
  write_map(lines);
  name_from_map();
  EXPECT_EQ(name(function), std::string(1024, 'n'));
  EXPECT_EQ(name(after), "after");
}

TEST_F(GeneratedNames, AnInstructionKeepsItsAddress) {
  Function* leaf = sampled(0x1008, FunctionKind::kInstruction);
  write_map("1000 10 function\n");
  name_from_map();
  EXPECT_EQ(name(leaf), "function");
  EXPECT_EQ(leaf->address, 0x1008u);
  EXPECT_EQ(leaf->kind, FunctionKind::kInstruction);
}

TEST_F(GeneratedNames, WithoutMemoryThereAreNone) {
  Function* function = sampled(0x1000);
  write_map("1000 10 function\n");
  {
    const NoMemory none;
    name_from_map();
    name_from_dump();
  }
  EXPECT_EQ(name(function), "");
  {
    GeneratedFunctions functions;
    const NoMemory none;  // for the lines
    name_by_perf_map(functions);
    name_by_jitdump(functions);
  }
  EXPECT_EQ(name(function), "");
  name_from_map();
  EXPECT_EQ(name(function), "function");
}

TEST_F(GeneratedNames, WhatIsNotNamelessCodeStays) {
  write_map("1000 10 function\n2000 10 function\n0 10 function\n3000 10 function\n");
  Function* of_module = sampled(0x1000);
  of_module->module = 1;
  Function* has_name = sampled(0x2000);
  has_name->name = 1;
  Function* nowhere = sampled(0);
  Function* block = sampled(0x3000, FunctionKind::kBlock);
  name_from_map();
  EXPECT_EQ(of_module->name, 0u);
  EXPECT_EQ(has_name->name, 1u);
  EXPECT_EQ(nowhere->name, 0u);
  EXPECT_EQ(block->name, 0u);
  of_module->module = 0;
  of_module->kind = has_name->kind = nowhere->kind = FunctionKind::kBlock;
}

// Which of several functions at one address it was.
class Offers : public GeneratedNames {
 protected:
  struct Offer {
    std::uint64_t begin, bytes, moment;
    const char* name;
  };
  static void take(const std::vector<Offer>& offers, bool in_time = false) {
    GeneratedFunctions functions;
    if (in_time) functions.count_moments_in_time();
    for (const Offer& each : offers) {
      functions.offer(each.begin, each.bytes, each.moment, address_of(each.name),
                      static_cast<std::uint32_t>(std::strlen(each.name)));
    }
    functions.take_names([](std::uint64_t at, char* name, std::uint32_t bytes) {
      std::memcpy(name, reinterpret_cast<const char*>(at), bytes);
      return bytes;
    });
  }
  Function* met_at(std::uint64_t address, std::uint64_t map_bytes) {
    Function* function = sampled(address);
    function->map_bytes = map_bytes;
    function->flags = format::kFunctionMapBytes;
    return function;
  }
};

TEST_F(Offers, TheLastThatWasThereBeforeTheSample) {
  Function* function = met_at(0x1000, 100);
  take({{0x1000, 16, 10, "first"}, {0x1000, 16, 90, "second"}, {0x1000, 16, 100, "later"}});
  EXPECT_EQ(name(function), "second");
}

TEST_F(Offers, ElseTheFirstThatCameLater) {
  Function* function = met_at(0x1000, 5);
  take({{0x1000, 16, 10, "first"}, {0x1000, 16, 90, "second"}});
  EXPECT_EQ(name(function), "first");
}

TEST_F(Offers, OneThatHoldsTheFirstByteRatherThanOneThatBeginsLater) {
  Function* function = met_at(0x1000, 100);
  take({{0x0ff0, 32, 10, "holds"}, {0x1008, 8, 20, "begins"}});
  EXPECT_EQ(name(function), "holds");
  Function* other = met_at(0x2000, 100);
  take({{0x2008, 8, 20, "begins"}});
  EXPECT_EQ(name(other), "begins");
}

TEST_F(Offers, ImpossibleOnesAreRefused) {
  Function* function = met_at(0x1000, 100);
  take({{0x1000, 0, 10, "nothing"},
        {0x1000, ~std::uint64_t{0}, 10, "around"},
        {0x1000, 16, 10, ""},
        {0x1010, 16, 10, "behind"}});
  EXPECT_EQ(name(function), "");
}

TEST_F(Offers, TheTimeDecidesForSourcesWithTimes) {
  Function* in_map = met_at(0x1000, 100);
  Function* known = sampled(0x2000);
  known->first_met_ns = 50;
  Function* unknown = sampled(0x3000);
  std::vector<Offer> offers;
  for (const std::uint64_t at : {0x1000u, 0x2000u, 0x3000u}) {
    offers.push_back({at, 16, 40, "before"});
    offers.push_back({at, 16, 60, "after"});
  }
  take(offers, true);
  EXPECT_EQ(name(in_map), "after") << "its moment is no time: the last one";
  EXPECT_EQ(name(known), "before");
  EXPECT_EQ(name(unknown), "after");
}

TEST_F(Offers, OfAMapThatCameAfterTheSample) {
  Function* met = sampled(0x1000);
  met->first_met_ns = 50;
  const std::vector<Offer> offers = {{0x1000, 16, 0, "first"}, {0x1000, 16, 9, "second"}};
  take(offers);
  EXPECT_EQ(name(met), "first");
  profile.perf_allowed = false;
  Function* confined = sampled(0x1000);
  confined->first_met_ns = 50;
  take(offers);
  EXPECT_EQ(name(confined), "second") << "a confined program's map is not looked at";
}

TEST_F(Offers, ANameThatCannotBeReadLeavesItToTheNextSource) {
  Function* function = sampled(0x1000);
  GeneratedFunctions functions;
  functions.offer(0x1000, 16, GeneratedFunctions::kAlways, 0, 5);
  functions.take_names([](std::uint64_t, char*, std::uint32_t) { return std::uint32_t{0}; });
  EXPECT_EQ(name(function), "");
  write_map("1000 10 of the map\n");
  name_by_perf_map(functions);
  EXPECT_EQ(name(function), "of the map");
}

// -- A jitdump --

class Dumps : public GeneratedNames {
 protected:
  Dumps() { head_ = {jitdump::kMagic, 1, sizeof head_, 62, 0, 0, 0, 0}; }

  void add(const void* record, std::size_t bytes) {
    records_.append(static_cast<const char*>(record), bytes);
  }
  void load(std::uint64_t address, std::uint64_t time, const std::string& name) {
    jitdump::LoadRecord record{};
    record.head = {jitdump::kLoad, static_cast<std::uint32_t>(sizeof record + name.size() + 1),
                   time};
    record.address = record.virtual_address = address;
    record.size = 16;
    add(&record, sizeof record);
    add(name.c_str(), name.size() + 1);
  }
  void move(std::uint64_t from, std::uint64_t to, std::uint64_t time) {
    jitdump::MoveRecord record{};
    record.head = {jitdump::kMove, sizeof record, time};
    record.from = from;
    record.to = to;
    record.size = 16;
    add(&record, sizeof record);
  }
  void lines(std::uint64_t address, std::uint64_t count, std::uint32_t line,
             const std::string& file) {
    jitdump::LinesRecord record{};
    const jitdump::LineEntry entry = {address, line, 0};
    record.head = {jitdump::kLines,
                   static_cast<std::uint32_t>(sizeof record + sizeof entry + file.size() + 1), 0};
    record.address = address;
    record.count = count;
    add(&record, sizeof record);
    add(&entry, sizeof entry);
    add(file.c_str(), file.size() + 1);
  }
  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(&head_), sizeof head_) + records_;
  }
  void write(const fs::path& path) const { std::ofstream(path, std::ios::binary) << bytes(); }
  // Writes it to the working directory, and reads it.
  void read() {
    write(dump_);
    name_from_dump();
    fs::remove(dump_);
  }

  jitdump::Header head_;
  std::string records_;
};

TEST_F(Dumps, NamesAndLines) {
  Function* first = sampled(0x1000);
  Function* second = sampled(0x2000);
  Function* third = sampled(0x3000);
  lines(0x1000, 1, 17, "first.script");
  load(0x1000, 5, "first");
  lines(0x9000, 1, 18, "other.script");
  load(0x2000, 5, "second");
  lines(0x3000, 0, 19, "none.script");
  load(0x3000, 5, "third");
  read();
  EXPECT_EQ(name(first), "first");
  EXPECT_EQ(first->line, 17u);
  EXPECT_EQ(text(first->file), "first.script");
  EXPECT_EQ(name(second), "second");
  EXPECT_EQ(second->line, 0u) << "the lines are another function's";
  EXPECT_EQ(name(third), "third");
  EXPECT_EQ(third->line, 0u) << "there are none";
}

TEST_F(Dumps, TimesOfTheProcessorAreNoTimes) {
  Function* function = sampled(0x1000);
  function->first_met_ns = 50;
  load(0x1000, 10, "first");
  load(0x1000, 60, "second");
  head_.flags = jitdump::kTimesOfProcessor;
  read();
  EXPECT_EQ(name(function), "second");
  function->name = 0;
  function->kind = FunctionKind::kNative;
  function->first_met_ns = 50;
  head_.flags = 0;
  read();
  EXPECT_EQ(name(function), "first");
}

TEST_F(Dumps, MovedCodeKeepsItsName) {
  Function* moved_twice = sampled(0x3000);
  Function* from_nowhere = sampled(0x4000);
  load(0x1000, 1, "function");
  move(0x1000, 0x2000, 2);
  move(0x2000, 0x3000, 3);
  move(0x8000, 0x4000, 4);
  move(0x1000, 0x7000, 5);  // where nothing was sampled
  read();
  EXPECT_EQ(name(moved_twice), "function");
  EXPECT_EQ(moved_twice->address, 0x3000u);
  EXPECT_EQ(name(from_nowhere), "");
}

TEST_F(Dumps, OfCodeThatWasMovedAndReplacedTheLastCounts) {
  Function* function = sampled(0x3000);
  load(0x1000, 1, "first");
  move(0x1000, 0x2000, 2);
  load(0x2000, 3, "second");
  move(0x2000, 0x3000, 4);
  read();
  EXPECT_EQ(name(function), "second");
}

TEST_F(Dumps, ALongChainOfMovesIsGivenUp) {
  Function* function = sampled(0x100000);
  load(0x1000, 1, "function");
  for (std::uint64_t i = 1; i < 20; ++i) move(i * 0x1000, (i + 1) * 0x1000, i);
  move(20 * 0x1000, 0x100000, 20);
  read();
  EXPECT_EQ(name(function), "");
}

TEST_F(Dumps, DamagedOnesAreReadUpToTheDamage) {
  Function* function = sampled(0x1000);
  Function* after = sampled(0x2000);
  const auto fails = [&](const char* why) {
    read();
    EXPECT_EQ(name(function), "") << why;
  };
  load(0x1000, 1, "function");
  head_.magic ^= 1;
  fails("another magic number");
  head_.magic ^= 1;
  head_.bytes = sizeof head_ - 1;
  fails("a short header");
  head_.bytes = 1 << 30;
  fails("a header that is longer than the file");
  head_.bytes = sizeof head_;
  const std::string whole = records_;
  records_.resize(20);
  fails("a record that is cut");
  records_.clear();
  fails("no records");
  const jitdump::RecordHead short_load = {jitdump::kLoad, sizeof(jitdump::RecordHead) + 8, 1};
  add(&short_load, sizeof short_load);
  records_.append(8, 0);
  const jitdump::RecordHead short_move = {jitdump::kMove, sizeof(jitdump::RecordHead) + 8, 1};
  add(&short_move, sizeof short_move);
  records_.append(8, 0);
  records_ += whole;
  move(0x1000, 0x2000, 2);
  const jitdump::RecordHead endless = {jitdump::kLoad, 0, 1};
  add(&endless, sizeof endless);
  read();
  EXPECT_EQ(name(function), "function") << "short records are skipped";
  EXPECT_EQ(name(after), "function") << "also on the way to what was moved";
  fs::remove(dump_);
  std::ofstream(dump_) << "DTiJ";
  name_from_dump();
}

TEST_F(Dumps, RecordsThatTheEndCutsAreLeftOut) {
  const auto cut_by = [&](std::size_t bytes) {
    records_ = records_.substr(0, records_.size() - bytes);
    read();
    records_.clear();
  };
  Function* moved = sampled(0x2000);
  load(0x1000, 1, "moved");
  move(0x1000, 0x2000, 2);
  cut_by(4);
  EXPECT_EQ(name(moved), "");
  Function* loaded = sampled(0x3000);
  load(0x3000, 1, "a name without its end");
  cut_by(1);
  EXPECT_EQ(name(loaded), "a name without its end");
  Function* without_lines = sampled(0x4000);
  load(0x4000, 1, "one");
  lines(0x4000, 1, 17, "");
  cut_by(8);
  EXPECT_EQ(name(without_lines), "one");
  EXPECT_EQ(without_lines->line, 0u);
}

TEST_F(Dumps, CodeThatWasMovedAtATimeOfTheProcessorKeepsItsName) {
  Function* function = sampled(0x2000);
  function->first_met_ns = 1;
  load(0x1000, 10, "moved");
  move(0x1000, 0x2000, 60);
  head_.flags = jitdump::kTimesOfProcessor;
  read();
  EXPECT_EQ(name(function), "moved");
}

TEST_F(Dumps, OfAnotherUserAreNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Function* function = sampled(0x1000);
  load(0x1000, 1, "another's");
  write(dump_);
  ASSERT_EQ(chown(dump_.c_str(), 12345, 12345), 0);
  name_from_dump();
  EXPECT_EQ(name(function), "");
}

TEST_F(Dumps, ADamagedOneThatIsMappedHidesNoOther) {
  Function* function = sampled(0x1000);
  fs::create_directory(home_ / "mapped");
  const fs::path path = home_ / "mapped" / dump_;
  std::ofstream(path) << std::string(4096, 'x');
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  load(0x1000, 1, "beside it");
  read();
  EXPECT_EQ(name(function), "beside it");
  munmap(mapped, 4096);
  close(file);
}

TEST_F(Dumps, WithoutDescriptorsThereAreNone) {
  Function* function = sampled(0x1000);
  load(0x1000, 1, "one");
  write(dump_);
  {
    const test::NoDescriptors none;
    name_from_dump();
  }
  EXPECT_EQ(name(function), "");
  name_from_dump();
  EXPECT_EQ(name(function), "one");
}

TEST_F(Dumps, VariablesThatOnlyBeginLikeTheOnesThatCountDoNot) {
  Function* function = sampled(0x1000);
  load(0x1000, 1, "one");
  fs::create_directories(home_ / ".debug/jit/one");
  write(home_ / ".debug/jit/one" / dump_);
  char longer[] = "JITDUMPDIRS=/nowhere", home[] = "HOME=";
  const std::string ours = std::string(home) + home_.string();
  char* const variables[] = {longer, const_cast<char*>(ours.c_str()), nullptr};
  char* const none[] = {nullptr};
  char** const before = environ;
  environ = const_cast<char**>(none);
  name_from_dump();
  EXPECT_EQ(name(function), "") << "nobody has a home";
  environ = nullptr;
  name_from_dump();
  environ = const_cast<char**>(variables);
  name_from_dump();
  environ = before;
  EXPECT_EQ(name(function), "one");
}

TEST_F(Dumps, AreFoundWhereTheyAreMapped) {
  Function* function = sampled(0x1000);
  load(0x1000, 1, "mapped");
  fs::create_directory(home_ / "some where");
  const fs::path path = home_ / "some where" / dump_;
  write(path);
  name_from_dump();
  EXPECT_EQ(name(function), "") << "nobody knows that folder";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  name_from_dump();
  EXPECT_EQ(name(function), "mapped");
  munmap(mapped, 4096);
  close(file);
}

TEST_F(Dumps, AreFoundInTmpAndInAFolderOfLlvms) {
  Function* function = sampled(0x1000);
  load(0x1000, 1, "in tmp");
  write("/tmp/" + dump_);
  name_from_dump();
  fs::remove("/tmp/" + dump_);
  EXPECT_EQ(name(function), "in tmp");

  Function* of_llvm = sampled(0x1000);
  records_.clear();
  load(0x1000, 1, "of LLVM");
  name_from_dump();
  EXPECT_EQ(name(of_llvm), "") << "there is no folder";
  fs::create_directories(home_ / ".debug/jit/one");
  name_from_dump();
  EXPECT_EQ(name(of_llvm), "") << "it has no dump";
  fs::create_directories(home_ / ".debug/jit/two");
  write(home_ / ".debug/jit/two" / dump_);
  setenv("JITDUMPDIR", "/nowhere", 1);
  name_from_dump();
  EXPECT_EQ(name(of_llvm), "") << "JITDUMPDIR is asked first";
  unsetenv("JITDUMPDIR");
  unsetenv("HOME");
  name_from_dump();
  EXPECT_EQ(name(of_llvm), "");
  setenv("JITDUMPDIR", home_.c_str(), 1);
  name_from_dump();
  EXPECT_EQ(name(of_llvm), "of LLVM");
}

// -- GDB's interface --

struct CodeEntry {
  std::uint64_t next, previous, object, bytes;
};
struct Object {
  Elf64_Ehdr header{};
  Elf64_Shdr sections[4]{};  // none, code, symbols, names
  Elf64_Sym symbols[3]{};
  char names[32]{};
};

class GdbInterface : public GeneratedNames {
 protected:
  static constexpr std::uint64_t kCode = 0x1000;

  GdbInterface() {
    object_.header.e_type = ET_REL;
    std::memcpy(object_.header.e_ident, ELFMAG, SELFMAG);
    object_.header.e_ident[EI_CLASS] = ELFCLASS64;
    object_.header.e_shentsize = sizeof(Elf64_Shdr);
    object_.header.e_shoff = offsetof(Object, sections);
    object_.header.e_shnum = 4;
    object_.sections[1].sh_addr = kCode;
    object_.sections[2].sh_type = SHT_SYMTAB;
    object_.sections[2].sh_offset = offsetof(Object, symbols);
    object_.sections[2].sh_size = sizeof object_.symbols;
    object_.sections[2].sh_link = 3;
    object_.sections[3].sh_offset = offsetof(Object, names);
    object_.sections[3].sh_size = sizeof object_.names;
    object_.symbols[1] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, 16};
    object_.symbols[2] = {1, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0, 16};
    std::strcpy(object_.names + 1, "function");
  }
  // What a function is called that was sampled at the code's address.
  std::string read(std::uint64_t bytes = sizeof(Object), std::uint64_t address = kCode) {
    entry_ = {0, 0, address_of(&object_), bytes};
    __jit_debug_descriptor.first_entry = address_of(&entry_);
    Function* function = sampled(address);
    name_from_gdb();
    const std::string result = name(function);
    function->kind = FunctionKind::kBlock;
    return result;
  }

  Object object_;
  CodeEntry entry_{};
};

TEST_F(GdbInterface, NamesFunctionsOfObjects) {
  EXPECT_EQ(read(), "function");
  object_.header.e_type = ET_DYN;
  object_.symbols[1].st_value = 0x5000;
  EXPECT_EQ(read(sizeof object_, 0x5000), "function") << "the value is the address";
}

TEST_F(GdbInterface, AListThatCannotBeReadEnds) {
  Function* function = sampled(kCode);
  name_from_gdb();
  EXPECT_EQ(name(function), "") << "it is empty";
  __jit_debug_descriptor.first_entry = 8;
  name_from_gdb();
  EXPECT_EQ(name(function), "");
  entry_ = {8, 0, address_of(&object_), sizeof object_};
  __jit_debug_descriptor.first_entry = address_of(&entry_);
  name_from_gdb();
  EXPECT_EQ(name(function), "function") << "the first entry was good";
}

TEST_F(GdbInterface, DamagedObjectsNameNothing) {
  const Object good = object_;
  const auto names_nothing = [&](const char* why, auto damage) {
    damage(object_);
    EXPECT_EQ(read(), "") << why;
    object_ = good;
  };
  for (const int i : {EI_MAG0, EI_MAG1, EI_MAG2, EI_MAG3, EI_CLASS}) {
    names_nothing("another magic number", [i](Object& object) { object.header.e_ident[i] ^= 1; });
  }
  names_nothing("sections of another size", [](Object& object) { object.header.e_shentsize = 40; });
  names_nothing("no sections", [](Object& object) { object.header.e_shoff = 1 << 20; });
  names_nothing("no symbols", [](Object& object) { object.sections[2].sh_type = SHT_PROGBITS; });
  names_nothing("no such table of names", [](Object& object) { object.sections[2].sh_link = 4; });
  names_nothing("symbols beyond it",
                [](Object& object) { object.sections[2].sh_offset = 1 << 20; });
  names_nothing("no such section", [](Object& object) { object.symbols[1].st_shndx = 4; });
  names_nothing("not defined", [](Object& object) { object.symbols[1].st_shndx = SHN_UNDEF; });
  names_nothing("code without an address", [](Object& object) { object.sections[1].sh_addr = 0; });
  names_nothing("a name beyond it", [](Object& object) { object.symbols[1].st_name = 32; });
  names_nothing("names beyond it", [](Object& object) { object.sections[3].sh_offset = 1 << 20; });
  names_nothing("an empty name", [](Object& object) { object.symbols[1].st_name = 0; });
  EXPECT_EQ(read(sizeof(Elf64_Ehdr) - 1), "") << "cut";
  EXPECT_EQ(read(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr)), "") << "cut in its sections";
  EXPECT_EQ(read(), "function");
}

TEST_F(GdbInterface, ANameThatCannotBeReadIsNone) {
  object_.sections[3].sh_size = std::uint64_t{1} << 40;
  EXPECT_EQ(read(), "function") << "how long it is shows when it is read";
  entry_ = {0, 0, 8, sizeof object_};
  Function* function = sampled(kCode);
  __jit_debug_descriptor.first_entry = address_of(&entry_);
  name_from_gdb();
  EXPECT_EQ(name(function), "");
}

}  // namespace
}  // namespace fbleprof::capture
