#include "symbolize/generated_code.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace fbleprof::symbolize {
namespace {

std::string name_at(const GeneratedCode& code, std::uint64_t address) {
  const GeneratedFunction* found = code.find(address);
  return found != nullptr ? found->name : "none";
}

TEST(PerfMap, NamesCoverTheFirstByteToTheLast) {
  GeneratedCode code;
  read_perf_map("1000 20 first\n0x1020 0x8 void W.second(int, long)\n", &code);
  EXPECT_EQ(name_at(code, 0xfff), "none");
  EXPECT_EQ(name_at(code, 0x1000), "first");
  EXPECT_EQ(name_at(code, 0x101f), "first");
  EXPECT_EQ(name_at(code, 0x1020), "void W.second(int, long)");
  EXPECT_EQ(name_at(code, 0x1028), "none");
}

std::string answer(const GeneratedCode& code, GeneratedCode::Question question) {
  const GeneratedFunction* found = code.answer({&question, 1})[0];
  return found != nullptr ? found->name : "none";
}

TEST(PerfMap, StretchWithTheStartOfAFunctionIsOfThatFunction) {
  GeneratedCode code;
  read_perf_map("1008 20 first\n1028 8 second\n", &code);
  EXPECT_EQ(answer(code, {0x1000, 16, 100}), "first");
  EXPECT_EQ(answer(code, {0x1000, 8, 100}), "none");
  EXPECT_EQ(answer(code, {0x1020, 16, 100}), "first") << "it holds the stretch's first byte";
}

TEST(PerfMap, FunctionsAtOneAddressAreToldApartByTheMapsLength) {
  GeneratedCode code;
  read_perf_map("1000 20 first\n1000 20 second\n1010 80 third\n", &code);
  EXPECT_EQ(answer(code, {0x1000, 16, 14}), "first");
  EXPECT_EQ(answer(code, {0x1000, 16, 29}), "second");
  EXPECT_EQ(answer(code, {0x1010, 16, 29}), "second");
  EXPECT_EQ(answer(code, {0x1010, 16, 43}), "third");
  EXPECT_EQ(answer(code, {0x1000, 16, 0}), "first") << "the map was written late";
  EXPECT_EQ(answer(code, {0x1080, 16, 0}), "third");
  const GeneratedCode::Question all[] = {
      {0x1010, 16, 43}, {0x1000, 16, 0}, {0x1000, 16, 29}, {0x2000, 16, 29}};
  const auto answers = code.answer(all);
  EXPECT_EQ(answers[0]->name, "third");
  EXPECT_EQ(answers[1]->name, "first");
  EXPECT_EQ(answers[2]->name, "second");
  EXPECT_EQ(answers[3], nullptr);
}

TEST(PerfMap, InvalidLinesAreIgnored) {
  GeneratedCode code;
  read_perf_map("\nnonsense\n1000\n1000 20\n1000 20 \n2000 zz name\n3000 0 nothing\n4000 10 last",
                &code);
  EXPECT_EQ(name_at(code, 0x1000), "none");
  EXPECT_EQ(name_at(code, 0x3000), "none");
  EXPECT_EQ(name_at(code, 0x4000), "last");
  read_perf_map("ffffffffffffffff 10 wraps\n", &code);
  EXPECT_EQ(name_at(code, ~std::uint64_t{0}), "none");
}

TEST(PerfMap, TheLastFunctionAtAReusedAddressWins) {
  GeneratedCode code;
  read_perf_map("1000 100 old\n1080 20 new\n1100 10 next\n10f0 20 both\n", &code);
  EXPECT_EQ(name_at(code, 0x1000), "none") << "a part of it is another function";
  EXPECT_EQ(name_at(code, 0x1080), "new");
  EXPECT_EQ(name_at(code, 0x1108), "both");
}

TEST(GeneratedName, JavaScriptNamesAreSplitIntoParts) {
  const GeneratedFunction fib = take_apart("JS:*fib /tmp/a b/w.js:12:13");
  EXPECT_EQ(fib.name, "fib");
  EXPECT_EQ(fib.file, "/tmp/a b/w.js");
  EXPECT_EQ(fib.line, 12u);
  EXPECT_EQ(fib.column, 13u);
  EXPECT_EQ(fib.language, "JavaScript");
  EXPECT_EQ(take_apart("LazyCompile:~f node:fs:7").line, 7u);
  EXPECT_EQ(take_apart("JS:~ /w.js:4:73").name, "(anonymous)");
  EXPECT_EQ(take_apart("Eval:~ /w.js:1:1").name, "(script)");
  EXPECT_EQ(take_apart("Builtin:ArrayMap").name, "Builtin:ArrayMap");
  EXPECT_EQ(take_apart("Builtin:ArrayMap").language, "");
  EXPECT_EQ(take_apart("JS:").name, "JS:");
  EXPECT_EQ(take_apart("JS:*").name, "(anonymous)");
}

TEST(GeneratedName, AccessorsOfJavaScriptAreCalledGetAndSet) {
  const GeneratedFunction size = take_apart("JS:~get size /a/g.js:1:44");
  EXPECT_EQ(size.name, "get size");
  EXPECT_EQ(size.file, "/a/g.js");
  EXPECT_EQ(size.line, 1u);
  EXPECT_EQ(size.column, 44u);
  EXPECT_EQ(take_apart("LazyCompile:*set size /a b/g.js:2:5").name, "set size");
  EXPECT_EQ(take_apart("JS:~get [Symbol.species] node:internal/url:7:1").name,
            "get [Symbol.species]");
  EXPECT_EQ(take_apart("JS:~get  /a/g.js:1:44").name, "get ") << "the property of an empty name";
  // Functions of these names.
  EXPECT_EQ(take_apart("JS:~get /a/g.js:1:44").name, "get");
  EXPECT_EQ(take_apart("JS:~get /a b/g.js:1:44").name, "get");
  EXPECT_EQ(take_apart("JS:~set file:///a b/g.js:1:44").name, "set");
  EXPECT_EQ(take_apart("JS:~get node:fs:9:2").name, "get");
}

class Dump {
 public:
  Dump() { add(std::vector<std::uint32_t>{0x4A695444, 1, 40, 62, 0, 1, 0, 0, 0, 0}); }
  template <class T>
  Dump& add(const std::vector<T>& words) {
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    bytes_.insert(bytes_.end(), bytes, bytes + words.size() * sizeof(T));
    return *this;
  }
  Dump& text(const std::string& text) {
    return add(std::vector<char>(text.c_str(), text.c_str() + text.size() + 1));
  }
  Dump& load(std::uint64_t address, std::uint64_t size, const std::string& name) {
    const auto bytes = static_cast<std::uint32_t>(16 + 40 + name.size() + 1);
    add(std::vector<std::uint32_t>{0, bytes, 0, 0, 1, 1});
    return add(std::vector<std::uint64_t>{address, address, size, 1}).text(name);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

TEST(JitDump, CodeIsLoadedAndMoves) {
  Dump dump;
  const std::string file = "/src/a.lua";
  dump.add(std::vector<std::uint32_t>{2, static_cast<std::uint32_t>(48 + file.size() + 1), 0, 0});
  dump.add(std::vector<std::uint64_t>{0x1000, 1, 0x1000}).add(std::vector<std::uint32_t>{7, 0});
  dump.text(file);
  dump.load(0x1000, 0x40, "f").load(0x2000, 0x40, "g");
  dump.add(std::vector<std::uint32_t>{1, 64, 0, 0, 1, 1});
  dump.add(std::vector<std::uint64_t>{0x3000, 0x2000, 0x3000, 0x40, 2});
  GeneratedCode code;
  ASSERT_TRUE(read_jitdump(dump.bytes(), &code));
  EXPECT_EQ(name_at(code, 0x103f), "f");
  EXPECT_EQ(code.find(0x1000)->file, "/src/a.lua");
  EXPECT_EQ(code.find(0x1000)->line, 7u);
  EXPECT_EQ(name_at(code, 0x3000), "g");
  EXPECT_EQ(code.find(0x3000)->file, "");
}

TEST(JitDump, TruncatedAnywhereItKeepsTheRecordsBefore) {
  Dump dump;
  dump.load(0x1000, 0x40, "f").load(0x2000, 0x40, "g");
  for (std::size_t size = 0; size < dump.bytes().size(); ++size) {
    GeneratedCode code;
    EXPECT_EQ(read_jitdump(dump.bytes().first(size), &code), size >= 40);
    EXPECT_EQ(name_at(code, 0x2000), "none");
  }
}

}  // namespace
}  // namespace fbleprof::symbolize
