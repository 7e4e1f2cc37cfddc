#include "profile/pack.h"

#include <gtest/gtest.h>

#include "profile/reader.h"
#include "tests/support/file_builder.h"

namespace fbleprof::profile {
namespace {

// The profile with each native function called "name N" and defined in x.c.
Profile with_names(const Profile& profile) {
  StringInterner strings(profile.strings());
  auto functions = std::make_shared<Functions>(profile.functions());
  for (std::size_t f = 0; f < functions->count(); ++f) {
    if (functions->kind[f] != FunctionKind::kNative) continue;
    functions->name[f] = strings.intern("name " + std::to_string(functions->address[f]));
    functions->linkage_name[f] = strings.intern(std::string(100, 'x'));
    functions->file[f] = strings.intern("x.c");
    functions->line[f] = 7;
  }
  Parts parts = profile.parts();
  parts.strings = std::make_shared<Strings>(strings.take());
  parts.functions = std::move(functions);
  return Profile(std::move(parts));
}

std::vector<std::byte> sample_bytes() {
  test::FileBuilder file;
  const format::Ref module = file.module("/bin/app", 0x1000, 0x9000, 0x1000, "id");
  file.native("f", 0x1100, 16, module);
  file.native("g", 0x1200, 16, module);
  file.charge("f g", {.cpu_ns = 5});
  file.charge("block", {.cpu_ns = 6});
  return file.bytes();
}

TEST(Pack, NamesAreReadBack) {
  const std::vector<std::byte> bytes = sample_bytes();
  const auto before = read_bytes(bytes, "f");
  ASSERT_TRUE(before.ok());
  const auto packed = pack(bytes, "f", with_names(before->profile));
  ASSERT_TRUE(packed.ok()) << packed.error().line();
  const auto after = read_bytes(*packed, "f");
  ASSERT_TRUE(after.ok());
  EXPECT_FALSE(after->damage.any()) << after->damage.first_what;
  const Functions& functions = after->profile.functions();
  std::size_t named = 0;
  for (std::size_t f = 0; f < functions.count(); ++f) {
    if (functions.kind[f] != FunctionKind::kNative) continue;
    ++named;
    EXPECT_EQ(after->profile.text(functions.name[f]),
              "name " + std::to_string(functions.address[f]));
    EXPECT_EQ(after->profile.text(functions.linkage_name[f]).size(), 100u);
    EXPECT_EQ(functions.line[f], 7u);
  }
  EXPECT_EQ(named, 2u);
  EXPECT_EQ(after->profile.nodes().count(), before->profile.nodes().count());
}

TEST(Pack, PackingTwiceChangesNothing) {
  const auto read = read_bytes(sample_bytes(), "f");
  const auto once = pack(sample_bytes(), "f", with_names(read->profile));
  const auto twice = pack(*once, "f", read_bytes(*once, "f")->profile);
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(*once, *twice);
}

TEST(Pack, ATruncatedFileIsRefused) {
  const auto read = read_bytes(sample_bytes(), "f");
  auto cut = sample_bytes();
  cut.resize(cut.size() - 32);
  EXPECT_FALSE(pack(cut, "f", read->profile).ok());
}

}  // namespace
}  // namespace fbleprof::profile
