#include "transform/identity.h"

#include <gtest/gtest.h>

#include "profile/builder.h"

namespace fbleprof::transform {
namespace {

using namespace profile;

class Identity : public testing::Test {
 protected:
  ModuleId module(const char* path, const char* build) {
    return builder_.add_module({builder_.string(path), builder_.string(build), 0});
  }
  FunctionId recorded(ModuleId module, std::uint64_t address, const char* name,
                      const char* linkage = nullptr, const char* file = nullptr,
                      std::uint32_t line = 0) {
    return add(FunctionKind::kNative, module, address, name, linkage, file, line);
  }
  // As a symbol table tells it.
  FunctionId told(ModuleId module, std::uint64_t address, const char* name, const char* linkage,
                  const char* unit, Namesakes namesakes) {
    FunctionKey key{.module = module, .address = address, .name = builder_.string(name)};
    if (linkage != nullptr) key.linkage_name = builder_.string(linkage);
    if (*unit != 0) key.unit = builder_.string(unit);
    key.namesakes = namesakes;
    return builder_.add_function(key);
  }
  FunctionId of_script(const char* name, const char* file, std::uint32_t line) {
    return add(FunctionKind::kBlock, {}, 0, name, nullptr, file, line);
  }
  FunctionId imported(ModuleId module, const char* name, const char* linkage = nullptr,
                      const char* file = nullptr, std::uint32_t line = 0) {
    return add(FunctionKind::kImported, module, 0, name, linkage, file, line);
  }
  FunctionId add(FunctionKind kind, ModuleId module, std::uint64_t address, const char* name,
                 const char* linkage, const char* file, std::uint32_t line) {
    FunctionKey key{.kind = kind, .module = module, .address = address};
    if (name != nullptr) key.name = builder_.string(name);
    if (linkage != nullptr) key.linkage_name = builder_.string(linkage);
    if (file != nullptr) key.file = builder_.string(file);
    key.line = line;
    return builder_.add_function(key);
  }
  std::vector<FunctionId> same() { return same_functions(builder_.build(), {}); }

  ProfileBuilder builder_;
};

TEST_F(Identity, AnImportedFunctionIsFoundByItsLinkageName) {
  const ModuleId app = module("/a/app", "aa"), again = module("/b/app", "aa");
  const FunctionId f = recorded(app, 0x10, "f(int)", "_Z1fi");
  const FunctionId of_long = recorded(app, 0x20, "f(long)", "_Z1fl");
  const FunctionId one = imported(again, "f", "_Z1fl"), two = imported(again, "f(int)");
  const auto same = this->same();
  EXPECT_EQ(same[one.index()], of_long);
  EXPECT_EQ(same[two.index()], f);
}

TEST_F(Identity, NamesakesAreDistinguishedByFileAndLine) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId first = recorded(app, 0x10, "helper", nullptr, "a.c", 3);
  const FunctionId second = recorded(app, 0x20, "helper", nullptr, "b.c", 3);
  const FunctionId of_b = imported(app, "helper", nullptr, "b.c", 3);
  const FunctionId of_a = imported(app, "helper", nullptr, "a.c", 3);
  const FunctionId marked = imported({}, "helper [b.c]");
  const auto same = this->same();
  EXPECT_NE(same[first.index()], same[second.index()]);
  EXPECT_EQ(same[of_b.index()], second);
  EXPECT_EQ(same[of_a.index()], first);
  EXPECT_EQ(same[marked.index()], second);
}

// Modules do not tell the two of scripts apart, so an export marks all three by files.
TEST_F(Identity, AnUnmarkedNamesakeOfScriptsFunctionsIsThatWithoutAFile) {
  const ModuleId python = module("/lib/libpython.so", "aa");
  const FunctionId builtin = recorded(python, 0x10, "compile");
  of_script("compile", "/lib/re/__init__.py", 225);
  const FunctionId in_compiler = of_script("compile", "/lib/re/_compiler.py", 738);
  const FunctionId unmarked = imported({}, "compile");
  const FunctionId marked = imported({}, "compile [_compiler.py]");
  const auto same = this->same();
  EXPECT_EQ(same[unmarked.index()], builtin);
  EXPECT_EQ(same[marked.index()], in_compiler);
}

TEST_F(Identity, AMarkCanBeTheEndOfAPath) {
  const FunctionId json = of_script("<module>", "/lib/json/__init__.py", 1);
  const FunctionId re = of_script("<module>", "/lib/re/__init__.py", 1);
  const FunctionId of_json = imported({}, "<module> [json/__init__.py:1]");
  const FunctionId of_re = imported({}, "<module> [re/__init__.py:1]");
  const FunctionId of_none = imported({}, "<module> [on/__init__.py:1]");
  const auto same = this->same();
  EXPECT_EQ(same[of_json.index()], json);
  EXPECT_EQ(same[of_re.index()], re);
  EXPECT_EQ(same[of_none.index()], of_none);
}

TEST_F(Identity, NamesThatAnExportChangedStillMatch) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId f = recorded(app, 0x10, "a;b\n 12");
  const FunctionId nameless = recorded(app, 0x40, nullptr);
  const FunctionId folded = imported({}, "a:b\\n_12");
  const FunctionId place = imported({}, "app+0x40");
  const auto same = this->same();
  EXPECT_EQ(same[folded.index()], f);
  EXPECT_EQ(same[place.index()], nameless);
}

TEST_F(Identity, EscapesOfAnExportMeanTheCharactersThatTheyReplace) {
  const std::pair<const char*, const char*> names[] = {
      {"tab\tbed", "tab\\tbed"},
      {"bell\arun", "bell\\x07run"},
      {"caf\xe9s", "caf\\xe9s"},  // not UTF-8
      {"caf\xc3\xa9s", "caf\xc3\xa9s"},
      {"left\xe2\x80\xaeover", "left\\u202eover"},
      {"tag\xf3\xa0\x80\x81 one", "tag\\U000e0001 one"},
      // A digit after an escape is the name's.
      {"up\xe2\x80\xae"
       "add",
       "up\\u202eadd"},
      {"up\xe2\x80\xae"
       "bdd",
       "up\\u202ebdd"},
      {"tag\xf3\xa0\x80\x81"
       "1",
       "tag\\U000e00011"},
      {"esc\x1b"
       "[31m",
       "esc\\x1b[31m"},
      {"esc\x1b"
       "31m",
       "esc\\x1b31m"},
      // These are no escapes.
      {"short\\x1", "short\\x1"},
      {"short\\u20zz", "short\\u20zz"},
      {"other\\q", "other\\q"},
      {"end\\", "end\\"},
      {"digits\\u202", "digits\\u202"},
  };
  const ModuleId app = module("/a/app", "aa");
  std::vector<std::pair<FunctionId, FunctionId>> pairs;
  std::uint64_t address = 0x10;
  for (const auto& [name, exported] : names) {
    const FunctionId f = recorded(app, address += 0x10, name);
    pairs.emplace_back(f, imported({}, exported));
  }
  const auto same = this->same();
  for (const auto& [f, of_import] : pairs) EXPECT_EQ(same[of_import.index()], f);
}

TEST_F(Identity, NamesInAnyScriptStayApart) {
  const FunctionId lambda = imported({}, "λ"), mu = imported({}, "μ"), main = imported({}, "main");
  const FunctionId accented = imported({}, "naïve"), plain = imported({}, "nave");
  const FunctionId block = add(FunctionKind::kBlock, {}, 0, "разбор", nullptr, "a.f", 1);
  const FunctionId of_block = imported({}, "разбор", nullptr, "a.f", 1);
  const auto same = this->same();
  for (const FunctionId f : {lambda, mu, main, accented, plain}) EXPECT_EQ(same[f.index()], f);
  EXPECT_EQ(same[of_block.index()], block);
}

TEST_F(Identity, AFunctionWithoutANameIsNobodysNamesake) {
  const FunctionId one = imported({}, "one", ""), empty = imported({}, "");
  const FunctionId again = imported({}, "two", "");
  const auto same = this->same();
  EXPECT_EQ(same[one.index()], one);
  EXPECT_EQ(same[empty.index()], empty);
  EXPECT_EQ(same[again.index()], again);
}

// An export changes names, but not some of a file's names.
TEST_F(Identity, DifferentNamesOfOneFileAreDifferentFunctions) {
  const ProcessId of_one = builder_.add_process({.file = builder_.string("one.folded")});
  const ProcessId of_two = builder_.add_process({.file = builder_.string("two.json")});
  const FunctionId root = builder_.named_function("[root]", FunctionKind::kRoot);
  const NodeId one = builder_.add_tree(root, of_one), two = builder_.add_tree(root, of_two);
  std::vector<FunctionId> apart;
  for (const char* name : {"a:b", "a;b", "thread 1", "thread_1", "foo bar", "foo_bar", "x\ny",
                           "x\\ny", "x\ry", "x\ty"}) {
    apart.push_back(imported({}, name));
    builder_.child(two, apart.back());
  }
  const FunctionId alone = imported({}, "here;only"), folded = imported({}, "here:only");
  builder_.child(two, alone);
  builder_.child(one, folded);
  const auto same = this->same();
  for (const FunctionId f : apart) EXPECT_EQ(same[f.index()], f);
  EXPECT_EQ(same[folded.index()], alone);
}

TEST_F(Identity, ClonesOfRustFunctionsKeepTheDoubleDotsOfTheirNames) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId f = recorded(app, 0x10, "f", "_ZN1a8$u7b$..1fE");
  const FunctionId part = recorded(app, 0x90, "f", "_ZN1a8$u7b$..1fE.cold");
  const FunctionId other = recorded(app, 0x80, "f", "_ZN1a8$u7b$..1gE.part.0");
  const auto same = this->same();
  EXPECT_EQ(same[part.index()], f);
  EXPECT_NE(same[other.index()], f);
}

TEST_F(Identity, AnImportedFunctionIsFoundByAMarkOfItsPlace) {
  const ModuleId one = module("/a/one", "aa"), two = module("/a/two", "bb");
  const FunctionId at_3 = recorded(one, 0x10, "helper", nullptr, "/src/a.c", 3);
  const FunctionId at_9 = recorded(one, 0x20, "helper", nullptr, "/src/a.c", 9);
  const FunctionId of_two = recorded(two, 0x30, "helper");
  const FunctionId line_3 = imported({}, "helper [a.c:3]"), line_9 = imported({}, "helper [a.c:9]");
  const FunctionId place = imported({}, "helper [two+0x30]");
  const FunctionId nobody = imported({}, "helper [three]"), none = imported({}, "helper]");
  const auto same = this->same();
  EXPECT_EQ(same[line_3.index()], at_3);
  EXPECT_EQ(same[line_9.index()], at_9);
  EXPECT_EQ(same[place.index()], of_two);
  EXPECT_EQ(same[nobody.index()], nobody);
  EXPECT_EQ(same[none.index()], none);
}

TEST_F(Identity, ImportedNamesakesAtDifferentLinesOrInDifferentFilesDiffer) {
  const FunctionId a = imported({}, "f", nullptr, "a.py", 1);
  const FunctionId again = imported({}, "f", "lib.f", "a.py", 1);
  const FunctionId line = imported({}, "f", nullptr, "a.py", 2);
  const FunctionId file = imported({}, "f", nullptr, "b.py", 1);
  const auto same = this->same();
  EXPECT_EQ(same[again.index()], same[a.index()]);
  EXPECT_NE(same[line.index()], same[a.index()]);
  EXPECT_NE(same[file.index()], same[a.index()]);
}

// Both halves are of one function's name; an export writes them in the order of their addresses.
TEST_F(Identity, ImportedNamesakesOfOneModuleAreTakenInOrder) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId first = recorded(app, 0x10, "helper"), second = recorded(app, 0x20, "helper");
  const FunctionId one = imported(app, "helper");
  const auto same = this->same();
  EXPECT_EQ(same[one.index()], first);
  EXPECT_NE(same[second.index()], first);
}

TEST_F(Identity, FunctionsOfDifferentModulesDiffer) {
  const ModuleId app = module("/a/app", "aa"), other = module("/a/other", "bb");
  const FunctionId f = recorded(app, 0x10, "f");
  const FunctionId g = imported(other, "f");
  const auto same = this->same();
  EXPECT_EQ(same[g.index()], g);
  EXPECT_EQ(same[f.index()], f);
}

TEST_F(Identity, ANameFoundInSeveralModulesMatchesNone) {
  const FunctionId one = recorded(module("/a/one", "aa"), 0x10, "f");
  const FunctionId two = recorded(module("/a/two", "bb"), 0x10, "f");
  const FunctionId name = imported({}, "f"), marked = imported({}, "f [two]");
  const auto same = this->same();
  EXPECT_EQ(same[name.index()], name);
  EXPECT_EQ(same[marked.index()], two);
  EXPECT_EQ(same[one.index()], one);
}

// The recorder also knows stubs that are in no context: those that calls named. Exports do not mark
// the others because of them.
TEST_F(Identity, ANameFoundInSeveralModulesIsThatOfTheTree) {
  const FunctionId in_no_tree = recorded(module("/a/app", "aa"), 0x10, "[plt]");
  const ModuleId lib = module("/a/lib", "bb");
  const FunctionId lazy = told(lib, 0x20, "[plt]", nullptr, "", Namesakes::kNone);
  const FunctionId bound = told(lib, 0x30, "[plt]", nullptr, "", Namesakes::kNone);
  const FunctionId read = imported({}, "[plt]");
  const FunctionId root = builder_.named_function("[root]", FunctionKind::kRoot);
  builder_.child(builder_.add_tree(root, builder_.add_process({})), bound);
  builder_.child(builder_.add_tree(root, builder_.add_process({})), read);
  const auto same = this->same();
  EXPECT_EQ(same[bound.index()], lazy);
  EXPECT_EQ(same[read.index()], lazy);
  EXPECT_EQ(same[in_no_tree.index()], in_no_tree);
}

TEST_F(Identity, ANameFoundTwiceInAModuleIsThatOfTheTree) {
  const ModuleId app = module("/a/app", "aa");
  recorded(app, 0x10, "tp_dealloc of 3 types");
  const FunctionId in_tree = recorded(app, 0x20, "tp_dealloc of 3 types");
  const FunctionId read = imported(app, "tp_dealloc of 3 types");
  const FunctionId root = builder_.named_function("[root]", FunctionKind::kRoot);
  builder_.child(builder_.add_tree(root, builder_.add_process({})), in_tree);
  builder_.child(builder_.add_tree(root, builder_.add_process({})), read);
  EXPECT_EQ(same()[read.index()], in_tree);
}

TEST_F(Identity, AClassIsKnownByTheWholeFunctionNotByItsPart) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId cold = recorded(app, 0x10, "f(int)", "_Z1fi.cold");
  const FunctionId f = recorded(app, 0x90, "f(int)", "_Z1fi");
  const auto same = this->same();
  EXPECT_EQ(same[cold.index()], f);
  EXPECT_EQ(same[f.index()], f);
}

TEST_F(Identity, FunctionsThatACompilerMakesOfACoroutineDiffer) {
  const ModuleId app = module("/a/app", "aa"), rebuilt = module("/a/app", "bb");
  const FunctionId f = recorded(app, 0x10, "f(int)", "_Z1fi");
  const FunctionId resume =
      told(app, 0x20, "f(int) [resume]", "_Z1fi.resume", "a.cc", Namesakes::kByUnit);
  const FunctionId destroy = recorded(app, 0x30, "f(int) [destroy]", "_Z1fi.destroy");
  const FunctionId namesake =
      told(app, 0x40, "f(int) [resume]", "_Z1fi.resume", "b.cc", Namesakes::kByUnit);
  const FunctionId cold =
      told(app, 0x50, "f(int) [resume]", "_Z1fi.resume.cold", "a.cc", Namesakes::kByUnit);
  const FunctionId again =
      told(rebuilt, 0x60, "f(int) [resume]", "_Z1fi.resume", "a.cc", Namesakes::kByUnit);
  const FunctionId read = imported(app, "f(int) [destroy]");
  const FunctionId v0 = recorded(app, 0x70, "a::f", "_RNvC1a1f");
  const FunctionId v0_resume = recorded(app, 0x80, "a::f [resume]", "_RNvC1a1f.resume");
  const auto same = this->same();
  for (const FunctionId each : {f, resume, destroy, namesake, v0, v0_resume}) {
    EXPECT_EQ(same[each.index()], each);
  }
  EXPECT_EQ(same[cold.index()], resume);
  EXPECT_EQ(same[again.index()], resume);
  EXPECT_EQ(same[read.index()], destroy);
}

// Only b.c's was called in the other build.
TEST_F(Identity, StaticFunctionsOfTwoBuildsAreMatchedByTheirFiles) {
  const ModuleId app = module("/a/app", "aa"), rebuilt = module("/a/app", "bb");
  const FunctionId of_a = told(app, 0x10, "parse", nullptr, "a.c", Namesakes::kByUnit);
  const FunctionId of_b = told(app, 0x20, "parse", nullptr, "b.c", Namesakes::kByUnit);
  const FunctionId again = told(rebuilt, 0x18, "parse", nullptr, "b.c", Namesakes::kByUnit);
  const auto same = this->same();
  EXPECT_EQ(same[again.index()], of_b);
  EXPECT_NE(same[again.index()], same[of_a.index()]);
}

TEST_F(Identity, ANamesakeThatOnlyOneBuildHasMatchesNone) {
  const ModuleId app = module("/a/app", "aa"), rebuilt = module("/a/app", "bb");
  const FunctionId of_a = told(app, 0x10, "parse", nullptr, "a.c", Namesakes::kNone);
  const FunctionId of_b = told(rebuilt, 0x10, "parse", nullptr, "b.c", Namesakes::kNone);
  const FunctionId global = told(app, 0x20, "draw", nullptr, "", Namesakes::kNone);
  const FunctionId local = told(rebuilt, 0x20, "draw", nullptr, "b.c", Namesakes::kNone);
  const auto same = this->same();
  EXPECT_NE(same[of_a.index()], same[of_b.index()]);
  EXPECT_EQ(same[global.index()], same[local.index()]);
}

TEST_F(Identity, ClonesOfStaticFunctionsBelongToThatOfTheirFile) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId a = told(app, 0x10, "parse", nullptr, "a.c", Namesakes::kByUnit);
  const FunctionId part = told(app, 0x20, "parse", "parse.part.0", "a.c", Namesakes::kByUnit);
  const FunctionId b = told(app, 0x30, "parse", "parse.constprop.0", "b.c", Namesakes::kByUnit);
  const FunctionId cold = told(app, 0x40, "parse", "parse.cold", "b.c", Namesakes::kByUnit);
  const auto same = this->same();
  EXPECT_EQ(same[part.index()], a);
  EXPECT_EQ(same[cold.index()], same[b.index()]);
  EXPECT_NE(same[b.index()], a);
}

TEST_F(Identity, NamesakesThatNothingTellsAreMatchedInTheirBuildOnly) {
  const ModuleId app = module("/a/app", "aa"), again = module("/b/app", "aa");
  const ModuleId rebuilt = module("/a/app", "bb");
  const FunctionId one = told(app, 0x10, "parse", nullptr, "0x10", Namesakes::kByPlace);
  const FunctionId two = told(app, 0x20, "parse", nullptr, "0x20", Namesakes::kByPlace);
  const FunctionId same_build = told(again, 0x20, "parse", nullptr, "0x20", Namesakes::kByPlace);
  const FunctionId other = told(rebuilt, 0x20, "parse", nullptr, "0x20", Namesakes::kByPlace);
  std::vector<FunctionId> untold;
  const auto same = same_functions(builder_.build(), {}, &untold);
  EXPECT_NE(same[one.index()], same[two.index()]);
  EXPECT_EQ(same[same_build.index()], two);
  EXPECT_EQ(same[other.index()], other);
  EXPECT_EQ(untold.size(), 4U);
}

// A packed profile whose program is gone.
TEST_F(Identity, NamesakesWithoutASymbolTableAreNotGuessed) {
  const ModuleId app = module("/a/app", "aa"), rebuilt = module("/a/app", "bb");
  const FunctionId one = recorded(app, 0x10, "parse"), two = recorded(app, 0x20, "parse");
  const FunctionId part = recorded(app, 0x30, "parse", "parse.part.0");
  const FunctionId other = recorded(rebuilt, 0x10, "parse");
  const FunctionId f = recorded(app, 0x40, "f"), f_cold = recorded(app, 0x50, "f", "f.cold");
  const FunctionId f_again = recorded(rebuilt, 0x40, "f");
  std::vector<FunctionId> untold;
  const auto same = same_functions(builder_.build(), {}, &untold);
  for (const FunctionId each : {one, two, part, other}) EXPECT_EQ(same[each.index()], each);
  EXPECT_EQ(same[f_cold.index()], f);
  EXPECT_EQ(same[f_again.index()], f);
  EXPECT_EQ(untold.size(), 4U);
}

TEST_F(Identity, PartsOfAFunctionBelongToIt) {
  const ModuleId app = module("/a/app", "aa");
  const FunctionId f = recorded(app, 0x10, "f(int)", "_Z1fi");
  const FunctionId cold = recorded(app, 0x90, "f(int)", "_Z1fi.cold");
  EXPECT_EQ(same()[cold.index()], f);
}

}  // namespace
}  // namespace fbleprof::transform
