#include "symbolize/symbol_table.h"

#include <gtest/gtest.h>

namespace fbleprof::symbolize {
namespace {

RawSymbol symbol(std::uint64_t begin, std::uint64_t size, std::string_view name) {
  return {.begin = begin,
          .size = size,
          .limit = 0x10000,
          .name = name,
          .origin = NameOrigin::kSymtab,
          .is_function = true,
          .is_local = false,
          .is_weak = false};
}

std::string_view name_at(const SymbolTable& table, std::uint64_t address) {
  const SymbolTable::Function* found = table.find(address);
  return found == nullptr ? "nothing" : found->name;
}

TEST(SymbolTable, CoversAFunctionExactlyToItsEnd) {
  const auto table = SymbolTable::build({symbol(0x100, 0x10, "f"), symbol(0x200, 0x10, "g")}, {});
  EXPECT_EQ(name_at(table, 0xff), "nothing");
  EXPECT_EQ(name_at(table, 0x100), "f");
  EXPECT_EQ(name_at(table, 0x10f), "f");
  EXPECT_EQ(name_at(table, 0x110), "nothing");
  EXPECT_EQ(name_at(table, 0x20f), "g");
}

TEST(SymbolTable, EndsASymbolWithoutSizeWhereTheUnwindTablesDo) {
  const auto table = SymbolTable::build({symbol(0x100, 0, "f")}, {{0x100, 0x140}, {0x140, 0x180}});
  EXPECT_EQ(name_at(table, 0x13f), "f");
  EXPECT_EQ(name_at(table, 0x140), "");
  EXPECT_EQ(table.find(0x150)->begin, 0x140U);
}

TEST(SymbolTable, EndsASymbolWithoutSizeAtTheNextFunction) {
  const auto next_unwound = SymbolTable::build({symbol(0x100, 0, "f")}, {{0x130, 0x140}});
  EXPECT_EQ(name_at(next_unwound, 0x12f), "f");
  EXPECT_EQ(name_at(next_unwound, 0x130), "");
  const auto next_named = SymbolTable::build({symbol(0x100, 0, "f"), symbol(0x120, 8, "g")}, {});
  EXPECT_EQ(name_at(next_named, 0x11f), "f");
  EXPECT_EQ(name_at(next_named, 0x120), "g");
  RawSymbol last = symbol(0x100, 0, "f");
  last.limit = 0x118;
  const auto section_ends = SymbolTable::build({last}, {});
  EXPECT_EQ(name_at(section_ends, 0x117), "f");
  EXPECT_EQ(name_at(section_ends, 0x118), "nothing");
}

TEST(SymbolTable, GivesTheByteBeforeASignalTrampolineItsName) {
  const auto table = SymbolTable::build({symbol(0x101, 0, "trampoline")}, {{0x100, 0x110}});
  EXPECT_EQ(name_at(table, 0x100), "trampoline");
  EXPECT_EQ(name_at(table, 0x10f), "trampoline");
}

TEST(SymbolTable, FillsGapsFromTheUnwindTables) {
  const auto table =
      SymbolTable::build({symbol(0x120, 0x10, "f")}, {{0x100, 0x180}, {0x200, 0x210}});
  EXPECT_EQ(table.find(0x110)->begin, 0x100U);
  EXPECT_EQ(name_at(table, 0x125), "f");
  EXPECT_EQ(table.find(0x150)->begin, 0x100U);
  EXPECT_EQ(table.find(0x150)->origin, NameOrigin::kUnwindTable);
  EXPECT_EQ(table.find(0x180), nullptr);
  EXPECT_EQ(table.find(0x20f)->begin, 0x200U);
}

TEST(SymbolTable, DoesNotExtendANameOverTheRestOfAnUnwindRange) {
  const auto table = SymbolTable::build({symbol(0x100, 0x10, "f")}, {{0x100, 0x140}});
  EXPECT_EQ(name_at(table, 0x10f), "f");
  EXPECT_EQ(name_at(table, 0x110), "");
  EXPECT_EQ(table.find(0x120)->begin, 0x110U);
}

TEST(SymbolTable, PrefersTheInnermostOfNestedSymbols) {
  const auto table = SymbolTable::build(
      {symbol(0x100, 0x100, "outer"), symbol(0x140, 0x20, "inner"), symbol(0x150, 8, "core")}, {});
  EXPECT_EQ(name_at(table, 0x13f), "outer");
  EXPECT_EQ(name_at(table, 0x140), "inner");
  EXPECT_EQ(name_at(table, 0x157), "core");
  EXPECT_EQ(name_at(table, 0x158), "inner");
  EXPECT_EQ(name_at(table, 0x160), "outer");
  EXPECT_EQ(table.find(0x1ff)->begin, 0x100U);
}

TEST(SymbolTable, PrefersTheNameThatProgrammersUse) {
  RawSymbol weak = symbol(0x100, 8, "write");
  weak.is_weak = true;
  RawSymbol local = symbol(0x100, 8, "w");
  local.is_local = true;
  RawSymbol label = symbol(0x100, 8, "wr");
  label.is_function = false;
  const auto table = SymbolTable::build(
      {symbol(0x100, 8, "__write"), local, label, weak, symbol(0x100, 8, "__libc_write")}, {});
  EXPECT_EQ(name_at(table, 0x104), "write");
}

TEST(SymbolTable, RemovesSymbolVersions) {
  const auto table = SymbolTable::build({symbol(0x100, 8, "memcpy@@GLIBC_2.14")}, {});
  EXPECT_EQ(name_at(table, 0x100), "memcpy");
}

TEST(SymbolTable, LabelsInsideAFunctionDoNotSplitIt) {
  RawSymbol label = symbol(0x108, 0, "loop");
  label.is_function = false;
  const auto table = SymbolTable::build({symbol(0x100, 0x20, "f"), label}, {});
  EXPECT_EQ(name_at(table, 0x110), "f");
}

TEST(SymbolTable, SurvivesSizesThatOverflow) {
  RawSymbol huge = symbol(0x100, ~0ULL, "f");
  const auto table = SymbolTable::build({huge, symbol(0x200, 8, "g")}, {});
  EXPECT_EQ(name_at(table, 0xffff), "f");
  EXPECT_EQ(name_at(table, 0x10000), "nothing");
  EXPECT_EQ(name_at(table, 0x204), "g");
  EXPECT_EQ(name_at(SymbolTable(), 0), "nothing");
}

}  // namespace
}  // namespace fbleprof::symbolize
