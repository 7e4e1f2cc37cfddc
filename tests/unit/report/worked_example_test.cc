// The worked example of docs/FILE_FORMAT.md can be written and is read as described.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "profile/reader.h"
#include "report/views/view.h"
#include "tests/support/file_builder.h"

namespace fbleprof::report {
namespace {

test::FileBuilder example() {
  test::FileBuilder file(false);
  file.metric("cpu", "ns", format::Role::kCpuTime, format::MetricPlace::kValues, 0);
  file.metric("calls", "count", format::Role::kCalls, format::MetricPlace::kCalls);
  file.calls("main", 1);
  file.calls("main f", 3);
  file.value("main f", 0) = 2'000'000;
  file.back("main f", "main f", 2);
  file.record<format::Thread>(file.current_thread())->cpu_ns = 2'000'000;
  return file;
}

bool is_nothing(const std::string& word) {
  return word.ends_with("=0") || word.ends_with("=0x0") || word.ends_with("=\"\"");
}

// The lines of --raw except the header's, without fields that are 0 or empty.
std::vector<std::string> raw_lines(const profile::FileImage& image) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::tmpfile(), std::fclose);
  find_view("raw")->print(image, out.get());
  std::rewind(out.get());
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out.get()));
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    if (line.starts_with("header ")) continue;
    std::istringstream words(line);
    std::string short_line;
    for (std::string word; words >> word;) {
      if (!is_nothing(word)) short_line += (short_line.empty() ? "" : " ") + word;
    }
    lines.push_back(short_line);
  }
  return lines;
}

std::vector<std::string> documented_lines() {
  std::ifstream document(FBLEPROF_DOCS "/FILE_FORMAT.md");
  std::vector<std::string> lines;
  bool is_example = false;
  for (std::string line; std::getline(document, line);) {
    is_example |= line == "## A worked example";
    if (is_example && line.starts_with("    ")) lines.push_back(line.substr(4));
  }
  return lines;
}

TEST(FileFormatDocument, ExampleMatchesAWrittenFile) {
  const auto file = example();
  const auto image = profile::FileImage::from_bytes(file.bytes(), "example");
  ASSERT_TRUE(image.ok());
  EXPECT_FALSE(profile::read_image(*image).damage.any());
  const std::vector<std::string> found = raw_lines(*image), told = documented_lines();
  EXPECT_EQ(found, told) << [&] {
    std::string all = "it should be\n";
    for (const std::string& line : found) all += "    " + line + "\n";
    return all;
  }();
}

}  // namespace
}  // namespace fbleprof::report
