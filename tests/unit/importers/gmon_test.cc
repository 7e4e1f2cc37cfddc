#include "report/importers/gmon.h"

#include <gtest/gtest.h>

#include "tests/support/profile_builder.h"

namespace fbleprof::importers {
namespace {

using namespace profile;

template <class Number>
void put(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string header() {
  std::string out = "gmon";
  put<std::uint32_t>(out, 1);
  out.append(12, '\0');
  return out;
}

void arc(std::string& out, std::uint64_t from, std::uint64_t to, std::uint32_t count) {
  out += '\1';
  put(out, from);
  put(out, to);
  put(out, count);
}

void histogram(std::string& out, std::uint64_t low, std::uint64_t high,
               std::vector<std::uint16_t> bins) {
  out += '\0';
  put(out, low);
  put(out, high);
  put(out, static_cast<std::uint32_t>(bins.size()));
  put<std::uint32_t>(out, 100);
  out += std::string("seconds\0\0\0\0\0\0\0\0", 15) + "s";
  for (const std::uint16_t bin : bins) put(out, bin);
}

// f is [100, 110), g is [110, 120).
GmonFunction function_at(std::uint64_t address) {
  if (address >= 100 && address < 110) return {100, 10, "f", "f"};
  if (address >= 110 && address < 120) return {110, 10, "g", "g"};
  return {};
}

Profile import(const std::string& bytes) {
  const auto gmon = read_gmon(bytes, "gmon.out");
  EXPECT_TRUE(gmon.ok());
  std::vector<GmonFunction> functions;
  for (const std::uint64_t a : gmon_addresses(*gmon)) functions.push_back(function_at(a));
  return gmon_profile(*gmon, functions, "gmon.out", "prog");
}

TEST(GmonTest, ArcsGiveExactCallsAndBinsSelfTime) {
  std::string bytes = header();
  arc(bytes, 105, 110, 7);  // f -> g
  arc(bytes, 105, 100, 5);  // f -> f
  arc(bytes, 0, 100, 1);    // from code without -pg
  histogram(bytes, 100, 120, {1, 0, 4, 2});
  EXPECT_EQ(test::text_of(import(bytes)),
            "[root]\n"
            ".f cpu=10000000 calls=6\n"
            "..g calls=7\n"
            ".g cpu=60000000\n"
            "f ~> f : 5\n");
}

TEST(GmonTest, BinOfTwoFunctionsIsDividedByBytes) {
  std::string bytes = header();
  histogram(bytes, 105, 115, {10});
  EXPECT_EQ(test::text_of(import(bytes)), "[root]\n.f cpu=50000000\n.g cpu=50000000\n");
}

TEST(GmonTest, DamageGivesOneLineWithItsOffset) {
  std::string bytes = header();
  arc(bytes, 105, 110, 7);
  histogram(bytes, 100, 120, {1, 0, 4, 2});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    if (length == 20 || length == 41) continue;  // between records
    const auto cut = read_gmon(std::string_view(bytes).substr(0, length), "g");
    ASSERT_FALSE(cut.ok()) << length;
    EXPECT_TRUE(cut.error().line().starts_with("g: offset ")) << cut.error().line();
  }
  bytes[20] = 9;
  EXPECT_EQ(read_gmon(bytes, "g").error().line().find("g: offset 20: damaged gmon.out: a record"),
            0u);
}

}  // namespace
}  // namespace fbleprof::importers
