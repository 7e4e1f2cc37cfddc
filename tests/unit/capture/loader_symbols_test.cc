// Functions are found in the loader's list whatever the objects in it look like: built by old
// linkers, stripped of tables, loaded under odd names.
#include "capture/loader_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/loader_list.h"

namespace fbleprof::capture {
namespace {

std::uint64_t address_of(const void* at) { return reinterpret_cast<std::uint64_t>(at); }

// An object of the loader's list whose tables a test fills in. Nothing is loaded.
class Object {
 public:
  explicit Object(const char* name) {
    map.l_name = const_cast<char*>(name);
    strings_.push_back(0);
    symbols_.push_back({});
  }

  // Adds a symbol; the value may be any number, because nobody calls the function.
  void add(const std::string& name, std::uint64_t value, std::uint16_t section = 1,
           std::uint16_t version = 2) {
    if (versions_.empty()) versions_.push_back(0);
    versions_.push_back(version);
    Elf64_Sym symbol{};
    symbol.st_name = name_at(name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = section;
    symbol.st_value = value;
    symbols_.push_back(symbol);
  }
  // One chain with all symbols, in their order.
  void put_hash() {
    const auto count = static_cast<std::uint32_t>(symbols_.size());
    hash_ = {1, count, count > 1 ? 1u : 0u, 0};
    for (std::uint32_t i = 1; i < count; ++i) hash_.push_back(i + 1 < count ? i + 1 : 0);
    put(DT_HASH, address_of(hash_.data()));
  }
  void put_empty_hash() {
    hash_ = {0, 0};
    put(DT_HASH, address_of(hash_.data()));
  }
  // One chain whose symbols all have the hash of this name.
  void put_gnu_hash(const char* name, std::uint32_t buckets = 1) {
    std::uint32_t value = 5381;
    for (const char* c = name; *c; ++c) value = value * 33 + static_cast<unsigned char>(*c);
    hash_ = {buckets, 1, 0, 0, 1};
    for (std::size_t i = 1; i < symbols_.size(); ++i) {
      hash_.push_back(i + 1 < symbols_.size() ? value & ~1u : value | 1);
    }
    put(DT_GNU_HASH, address_of(hash_.data()));
  }
  void put_strings() { put(DT_STRTAB, address_of(strings_.data())); }
  void put_symbols() { put(DT_SYMTAB, address_of(symbols_.data())); }
  void put_versions() { put(DT_VERSYM, address_of(versions_.data())); }
  void put_needed(const char* name) { put(DT_NEEDED, name_at(name)); }
  void put(std::int64_t tag, std::uint64_t value) {
    if (!dynamic_.empty()) dynamic_.pop_back();
    dynamic_.push_back({tag, {value}});
    dynamic_.push_back({DT_NULL, {0}});
    map.l_ld = dynamic_.data();
  }
  std::uint64_t strings() const { return address_of(strings_.data()); }

  link_map map{};

 private:
  std::uint32_t name_at(const std::string& name) {
    const auto at = static_cast<std::uint32_t>(strings_.size());
    strings_.insert(strings_.end(), name.begin(), name.end());
    strings_.push_back(0);
    return at;
  }

  std::vector<char> strings_;
  std::vector<Elf64_Sym> symbols_;
  std::vector<std::uint16_t> versions_;
  std::vector<std::uint32_t> hash_;
  std::vector<Elf64_Dyn> dynamic_;
};

std::uint64_t found(Object& object, const char* name) {
  const test::LoaderList list({&object.map});
  return address_of(any_definition(name));
}

TEST(OddObjects, ThatHaveOnlyTheOldHashTableAreSearched) {
  Object object("old.so");
  object.add("wanted", 0x1000, SHN_UNDEF);
  object.add("wanted", 0);
  object.add("other", 0x2000);
  object.add("wanted", 0x3000);
  object.put_strings(), object.put_symbols(), object.put_hash();
  EXPECT_EQ(found(object, "wanted"), 0x3000u) << "the first that is defined";
  EXPECT_EQ(found(object, "other"), 0x2000u);
  EXPECT_EQ(found(object, "a_name_that_is_longer_than_the_hash"), 0u);
  EXPECT_EQ(found(object, ""), 0u);
}

TEST(OddObjects, WithoutSymbolsDefineNothing) {
  Object bare("bare.so");
  EXPECT_EQ(found(bare, "wanted"), 0u) << "no dynamic section";
  bare.add("wanted", 0x1000);
  bare.put_hash();
  EXPECT_EQ(found(bare, "wanted"), 0u) << "no names";
  bare.put_strings();
  EXPECT_EQ(found(bare, "wanted"), 0u) << "no symbols";
  bare.put_symbols();
  EXPECT_EQ(found(bare, "wanted"), 0x1000u);
  Object without("without.so");
  without.add("wanted", 0x1000);
  without.put_strings(), without.put_symbols();
  EXPECT_EQ(found(without, "wanted"), 0u) << "no hash table";
  without.put_empty_hash();
  EXPECT_EQ(found(without, "wanted"), 0u) << "a hash table without buckets";
  without.put_gnu_hash("wanted", 0);
  EXPECT_EQ(found(without, "wanted"), 0u) << "a hash table without buckets";
}

TEST(OddObjects, NamesOfTheSameHashAreToldApart) {
  Object object("new.so");
  object.add("undefined", 0x1000, SHN_UNDEF);
  object.add("another", 0x2000);
  object.add("wanted", 0x3000);
  object.put_strings(), object.put_symbols(), object.put_gnu_hash("wanted");
  EXPECT_EQ(found(object, "wanted"), 0x3000u);
}

TEST(OddObjects, VersionsForOldProgramsOnlyAreNotFound) {
  Object object("versions.so");
  object.add("wanted", 0x1000, 1, 0x8002);
  object.add("wanted", 0x2000, 1, 3);
  object.put_strings(), object.put_symbols(), object.put_versions(), object.put_hash();
  EXPECT_EQ(found(object, "wanted"), 0x2000u);
}

TEST(OddLists, WithoutLibcHaveNoDefinitionOfLibcs) {
  Object program(""), other("/lib/other.so");
  const test::LoaderList list({&program.map, &other.map});
  EXPECT_EQ(definition_of_libc("getpid"), nullptr);
  EXPECT_STREQ(own_file(), "") << "this file is not in the list";
  EXPECT_EQ(next_definition("getpid"), nullptr);
}

TEST(OddLists, AnObjectWithoutANameIsNoFile) {
  Object program("");
  extern const char own_dynamic[] asm("_DYNAMIC");
  program.map.l_ld = reinterpret_cast<Elf64_Dyn*>(const_cast<char*>(own_dynamic));
  program.map.l_name = nullptr;
  const test::LoaderList list({&program.map});
  EXPECT_STREQ(own_file(), "");
}

// What a library of the program defines is libc's only if the library was preloaded.
TEST(OddLists, APreloadedLibraryIsOneThatTheProgramDoesNotName) {
  Object program(""), own("/lib/own.so"), library("/opt/lib/some.so"), libc("/lib/libc.so.6");
  own.put(DT_SONAME, 0);
  library.add("getpid", 0x1000), libc.add("getpid", 0x2000);
  for (Object* object : {&library, &libc}) {
    object->put_strings(), object->put_symbols(), object->put_hash();
  }
  const auto of_libc = [&] {
    const test::LoaderList list({&program.map, &own.map, &library.map, &libc.map});
    const Definition definition = next_definition_of_libc("getpid", own.map.l_ld);
    EXPECT_EQ(address_of(definition.next), 0x1000u);
    return address_of(definition.of_libc);
  };
  EXPECT_EQ(of_libc(), 0x1000u) << "the program names no libraries at all";
  program.put_needed("/opt/lib/some.so");
  EXPECT_EQ(of_libc(), 0x1000u) << "the names cannot be read";
  program.put_strings();
  EXPECT_EQ(of_libc(), 0x2000u) << "named by its path";
  Object by_name("");
  by_name.put_needed("other.so"), by_name.put_needed("some.so"), by_name.put_strings();
  Object relocatable("");
  relocatable.put_needed("some.so");
  // The loader has not relocated the address of the names.
  relocatable.map.l_addr = relocatable.strings() - 16;
  relocatable.put(DT_STRTAB, 16);
  for (Object* other : {&by_name, &relocatable}) {
    const test::LoaderList list({&other->map, &own.map, &library.map, &libc.map});
    EXPECT_EQ(address_of(next_definition_of_libc("getpid", own.map.l_ld).of_libc), 0x2000u);
  }
}

TEST(OddListsDeathTest, ALibraryThatWasLoadedLastLooksAtAllOthers) {
  const auto looks = [] {
    Object program(""), vdso("linux-vdso.so.1"), own("own.so");
    for (Object* object : {&program, &vdso, &own}) {
      object->add(object == &program ? "of_the_program" : "of_others", 0x1000);
      object->put_strings(), object->put_symbols(), object->put_hash();
    }
    const test::LoaderList list({&program.map, &vdso.map, &own.map});
    if (next_definition("of_the_program", own.map.l_ld) != nullptr) return 1;
    look_at_all_objects();
    if (address_of(next_definition("of_the_program", own.map.l_ld)) != 0x1000) return 2;
    // Neither its own functions nor those that libc calls in the kernel's object.
    if (next_definition("of_others", own.map.l_ld) != nullptr) return 3;
    return 0;
  };
  EXPECT_EXIT(std::exit(looks()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace fbleprof::capture
