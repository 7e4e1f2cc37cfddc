#include "build_sample.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "symbolize/elf_object.h"
#include "symbolize/symbol_reader.h"

namespace fbleprof::symbolize {
namespace {

constexpr char kSample[] = R"(#include <cstdio>
volatile int factor = 3;
namespace shapes {
[[gnu::always_inline]] inline int leaf(int x) {
  int y = factor;
  y = y * x + factor;  // kLeafLine
  return y;
}
[[gnu::always_inline]] inline int middle(int x) {
  factor = x;
  return leaf(x) + 1;  // kMiddleLine
}
template <typename T>
[[gnu::noinline]] T area(T x) {
  factor = x;
  T y = middle(x) * 2;  // kAreaLine
  factor = y;
  return y;
}
}  // namespace shapes
[[gnu::noinline]] static int hidden(int x) { return factor + shapes::area(x); }
extern "C" [[gnu::noinline, gnu::visibility("default")]] int exported(int x) {
  puts("exported");
  return hidden(x) + factor;
}
int main(int argc, char**) { return exported(argc) == 42; }
)";

std::optional<ElfObject> open(const std::string& file) {
  OpenError error{};
  auto object = ElfObject::open(file, &error);
  EXPECT_TRUE(object.has_value()) << file;
  return object;
}

}  // namespace

Workshop::Workshop() {
  directory_ = std::filesystem::temp_directory_path().string() + "/fbleprof.symbolize.XXXXXX";
  if (mkdtemp(directory_.data()) == nullptr) ADD_FAILURE() << directory_;
  write("sample.cc", kSample);
}

Workshop::~Workshop() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

bool Workshop::run(const std::string& command) const {
  return std::system(("cd '" + directory_ + "' && " + command).c_str()) == 0;
}

std::string Workshop::compile(const std::string& compiler, const std::string& flags,
                              const std::string& name) const {
  const std::string command =
      compiler + " -std=c++20 -Wl,--build-id " + flags + " sample.cc -o " + name;
  EXPECT_TRUE(run(command)) << command;
  return path(name);
}

std::string Workshop::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::uint64_t address_of(const std::string& file, const std::string& linkage_name) {
  const auto object = open(file);
  if (!object) return 0;
  for (const RawSymbol& symbol : read_symbols(*object)) {
    if (symbol.name == linkage_name) return symbol.begin;
  }
  return 0;
}

std::string build_id_of(const std::string& file) {
  const auto object = open(file);
  return object ? object->build_id() : std::string();
}

std::vector<std::uint64_t> addresses_in(const std::string& file, const std::string& section,
                                        std::uint64_t step) {
  std::vector<std::uint64_t> addresses;
  const auto object = open(file);
  const Section* found = object ? object->section(section) : nullptr;
  if (found == nullptr) return addresses;
  for (std::uint64_t offset = 0; offset < found->header.sh_size; offset += step) {
    addresses.push_back(found->header.sh_addr + offset);
  }
  return addresses;
}

}  // namespace fbleprof::symbolize
