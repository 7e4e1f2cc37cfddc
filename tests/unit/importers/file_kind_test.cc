// The kind of a file, from its first bytes.
#include "report/importers/file_kind.h"

#include <gtest/gtest.h>

#include <string>

namespace fbleprof::importers {
namespace {

using namespace std::string_literals;

TEST(FileKind, IsToldByTheFirstBytes) {
  const std::pair<std::string, FileKind> files[] = {
      {"", FileKind::kEmpty},
      {"FBLEPROF...", FileKind::kNative},
      {"\x1f\x8b\x08", FileKind::kGzip},
      {"\x7f"
       "ELF\2",
       FileKind::kElf},
      {"PERFILE2", FileKind::kPerfData},
      {"gmon\1", FileKind::kGmon},
      {"digraph x {", FileKind::kWriteOnly},
      {"{\"meta\":{}}", FileKind::kWriteOnly},
      {"<?xml version=\"1.0\"?>\n<svg>", FileKind::kWriteOnly},
      {"<?xml version=\"1.0\"?>\n<other>", FileKind::kUnknown},
      {"id,parent,depth,function,", FileKind::kWriteOnly},
      // Text, with all that may stand before its first line.
      {"main;work 3\n", FileKind::kFolded},
      {"# a remark\n \t\r\n\nmain;work 3", FileKind::kFolded},
      {"prog 12 1.5: 10 cpu-clock:\n", FileKind::kPerfScript},
      {"\x1b[1m\f\tmain", FileKind::kUnknown},
      {"# only a remark", FileKind::kUnknown},
      {"main;work", FileKind::kUnknown},
      {"main;" + std::string(kDetectBytes, 'x'), FileKind::kFolded},
      {std::string(kDetectBytes, 'x'), FileKind::kUnknown},
      // A profile of pprof begins with a message or a number.
      {"\x0a\x04\x08\x01\x10\x02"s, FileKind::kPprof},
      {"\x12\x90\x90\x01\x0a\x02"s, FileKind::kPprof},
      {"\x22\x02\x08\x01"s, FileKind::kPprof},
      {"\x5a\x02\x08\x01"s, FileKind::kPprof},
      {"\x0a\x90\x01\x00"s, FileKind::kPprof},
      {"\x1a\x90\x90\x00"s, FileKind::kUnknown},
      {"\x1a\x90"s, FileKind::kPprof},
      {"\x38\x01"s, FileKind::kPprof},
      {"\x50\x01"s, FileKind::kPprof},
      {"\x60\x01"s, FileKind::kPprof},
      {"\x6a\x01\x01"s, FileKind::kPprof},
      {"\x72\x01\x01"s, FileKind::kUnknown},
      {"\x3a\x01\x01"s, FileKind::kUnknown},
      {"\x78\x01"s, FileKind::kUnknown},
      {"\x02\x01"s, FileKind::kUnknown},
      {"\x01"s, FileKind::kUnknown},
      // OTLP's first message holds a message.
      {"\x0a\x90\x01\x0a\x01"s, FileKind::kWriteOnly},
      {"\x0a\x90\x01\x12\x01"s, FileKind::kWriteOnly},
      {"\x0a\x90\x90\x90"s, FileKind::kUnknown},
  };
  for (const auto& [head, kind] : files) {
    EXPECT_EQ(static_cast<int>(detect(head)), static_cast<int>(kind))
        << testing::PrintToString(head);
  }
  EXPECT_EQ(write_only_format("\x0a\x90\x01\x12\x01"), "OTLP");
  EXPECT_EQ(write_only_format(""), "");
  EXPECT_EQ(write_only_format("\n<svg"), "");
}

}  // namespace
}  // namespace fbleprof::importers
