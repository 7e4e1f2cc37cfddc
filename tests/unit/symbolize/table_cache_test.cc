#include "symbolize/table_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace fbleprof::symbolize {
namespace {

namespace fs = std::filesystem;

SymbolTable some_table(std::size_t functions) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < functions; ++i) names.push_back("function_" + std::to_string(i));
  std::vector<RawSymbol> symbols;
  for (std::size_t i = 0; i < functions; ++i) {
    symbols.push_back({.begin = 0x1000 + i * 0x20,
                       .size = 0x18,
                       .limit = 0x1000000,
                       .name = names[i],
                       .origin = NameOrigin::kSymtab,
                       .is_function = true,
                       .is_local = i % 2 != 0,
                       .is_weak = false,
                       .file = static_cast<std::uint32_t>(i / 10 + 1),
                       .unit = i % 20 < 10 ? "a.c" : "b.c"});
  }
  return SymbolTable::build(symbols, {{0x500, 0x600}});
}

class TableCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fbleprof-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(directory_); }
  std::string cache_directory() const { return (directory_ / "deep" / "cache").string(); }

  fs::path directory_;
};

TEST(SymbolTableBytes, AreReadBackUnchanged) {
  const SymbolTable table = some_table(50);
  const auto back = SymbolTable::from_bytes(table.to_bytes());
  ASSERT_TRUE(back.has_value());
  ASSERT_EQ(back->functions().size(), table.functions().size());
  EXPECT_EQ(back->has_names(), table.has_names());
  for (std::uint64_t address = 0x400; address < 0x2000; ++address) {
    const auto* a = table.find(address);
    const auto* b = back->find(address);
    ASSERT_EQ(a == nullptr, b == nullptr) << address;
    if (a == nullptr) continue;
    EXPECT_EQ(a->begin, b->begin);
    EXPECT_EQ(a->size, b->size);
    EXPECT_EQ(a->name, b->name);
    EXPECT_EQ(a->origin, b->origin);
    EXPECT_EQ(a->namesakes, b->namesakes);
    EXPECT_EQ(a->unit, b->unit);
  }
}

KnownLines some_lines() {
  SourceLocation location;
  location.declared_file = "area.cc";
  location.declared_line = 3;
  location.function = {"area(int)", "_Z4areai", "area.cc", 7, "area.cc", 3};
  location.inlined = {{"square(int)", "", "square.h", 9, "", 0}};
  KnownLines lines;
  lines.add(0x1000, location);
  lines.add(0x1004, {});
  return lines;
}

TEST(KnownLinesBytes, AreReadBackUnchanged) {
  const std::string bytes = some_lines().to_bytes();
  const auto back = KnownLines::from_bytes(bytes);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->to_bytes(), bytes);
  const SourceLocation* location = back->find(0x1000);
  ASSERT_NE(location, nullptr);
  EXPECT_EQ(location->function.name, "area(int)");
  EXPECT_EQ(location->function.line, 7U);
  ASSERT_EQ(location->inlined.size(), 1U);
  EXPECT_EQ(location->inlined[0].file, "square.h");
  ASSERT_NE(back->find(0x1004), nullptr);
  EXPECT_EQ(back->find(0x1001), nullptr);
}

TEST(KnownLinesBytes, DamagedOrTruncatedOnesAreRejected) {
  const std::string bytes = some_lines().to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(KnownLines::from_bytes(bytes.substr(0, size)).has_value()) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] ^= 0x40;
    EXPECT_FALSE(KnownLines::from_bytes(damaged).has_value()) << at;
  }
  EXPECT_FALSE(KnownLines::from_bytes(bytes + '\0').has_value());
}

TEST_F(TableCacheTest, LinesAreFoundAgain) {
  const TableCache cache(cache_directory());
  EXPECT_FALSE(cache.find_lines("key").has_value());
  cache.keep_lines("key", some_lines());
  ASSERT_TRUE(cache.find_lines("key").has_value());
  EXPECT_FALSE(cache.find("key").has_value());  // it is no symbol table
}

TEST(SymbolTableBytes, DamagedOrTruncatedOnesAreRejected) {
  const std::string bytes = some_table(8).to_bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(SymbolTable::from_bytes(std::string_view(bytes).substr(0, size)).has_value());
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at >= 12 && at < 16) continue;  // a flag: any value is one
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x41);
    EXPECT_FALSE(SymbolTable::from_bytes(wrong).has_value()) << at;
  }
}

TEST_F(TableCacheTest, StoresTablesByKey) {
  const TableCache cache(cache_directory(), TableCache::kMostBytes, 1);
  EXPECT_FALSE(cache.find("\x01\xab").has_value());
  cache.keep("\x01\xab", some_table(10));
  const auto found = cache.find("\x01\xab");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->find(0x1000)->name, "function_0");
  EXPECT_FALSE(cache.find("\x01\xab+debug").has_value());
  EXPECT_TRUE(fs::exists(cache_directory() + "/01ab.symbols"));
}

TEST_F(TableCacheTest, SmallTablesAreStoredOnlyForTheProgramItself) {
  const TableCache cache(cache_directory());
  cache.keep("a", some_table(10));
  EXPECT_FALSE(fs::exists(cache_directory()));
  cache.keep("a", some_table(10), true);
  EXPECT_TRUE(cache.find("a").has_value());
}

TEST_F(TableCacheTest, DamagedFilesAreIgnored) {
  const TableCache cache(cache_directory(), TableCache::kMostBytes, 1);
  cache.keep("a", some_table(10));
  std::ofstream(cache_directory() + "/61.symbols", std::ios::binary) << "rubbish";
  EXPECT_FALSE(cache.find("a").has_value());
  cache.keep("a", some_table(10));
  EXPECT_TRUE(cache.find("a").has_value());
}

TEST_F(TableCacheTest, LinksAndOtherUsersFilesAreIgnored) {
  const TableCache cache(cache_directory(), TableCache::kMostBytes, 1);
  cache.keep("a", some_table(10));
  EXPECT_EQ(fs::status(cache_directory()).permissions(), fs::perms::owner_all);
  const fs::path file = cache_directory() + "/61.symbols", elsewhere = directory_ / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_FALSE(cache.find("a").has_value()) << "a link";
  fs::rename(elsewhere, file);
  EXPECT_TRUE(cache.find("a").has_value());
  if (geteuid() != 0) return;
  ASSERT_EQ(chown(file.c_str(), 1, 1), 0);
  EXPECT_FALSE(cache.find("a").has_value()) << "another user's";
}

TEST_F(TableCacheTest, TheOldestFilesAreRemovedWhenThereAreTooMany) {
  const std::size_t size = some_table(10).to_bytes().size();
  const TableCache cache(cache_directory(), size * 3, 1);
  for (const char* key : {"a", "b", "c"}) cache.keep(key, some_table(10));
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(cache_directory() + "/61.symbols", now - std::chrono::hours(1));
  fs::last_write_time(cache_directory() + "/62.symbols", now - std::chrono::hours(2));
  fs::last_write_time(cache_directory() + "/63.symbols", now - std::chrono::hours(3));
  EXPECT_TRUE(cache.find("c").has_value());  // and so it is young again
  cache.keep("d", some_table(10));
  EXPECT_TRUE(cache.find("a").has_value());
  EXPECT_FALSE(cache.find("b").has_value());
  EXPECT_TRUE(cache.find("c").has_value());
  EXPECT_TRUE(cache.find("d").has_value());
}

TEST_F(TableCacheTest, WithoutADirectoryNothingIsStored) {
  const TableCache cache("");
  cache.keep("a", some_table(5000));
  EXPECT_FALSE(cache.find("a").has_value());
  const TableCache nowhere("/proc/nonexistent/cache", TableCache::kMostBytes, 1);
  nowhere.keep("a", some_table(10));
  EXPECT_FALSE(nowhere.find("a").has_value());
}

}  // namespace
}  // namespace fbleprof::symbolize
