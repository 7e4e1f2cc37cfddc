// The process's session, with a profile in memory instead of a file. It is started once, for all
// tests of a program.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <string>
#include <vector>

#include "format/format.h"
#include "signal_safe/session.h"

namespace fbleprof::test {

class StartedSession : public testing::Test {
 protected:
  StartedSession() {
    constexpr std::uint64_t kBytes = 8 << 20;
    static const bool is_started = [] {
      void* file =
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      static_cast<format::Header*>(file)->used_bytes = format::kHeaderBytes;
      return signal_safe::session.start(static_cast<char*>(file), kBytes, kBytes, {});
    }();
    EXPECT_TRUE(is_started);
  }
  ~StartedSession() override {
    for (const format::Ref module : modules_) signal_safe::session.code_map.retire(module, 1);
  }

  static format::Ref string(const std::string& text) {
    return signal_safe::session.arena.add_string(text.data(),
                                                 static_cast<std::uint32_t>(text.size()));
  }
  // A module that is loaded until the end of the test. Nothing is at its addresses.
  format::Module& add_module(std::uint64_t begin, std::uint64_t bytes, const char* path,
                             const std::string& build_id = "") {
    static const Elf64_Phdr kNoHeaders[1] = {};
    signal_safe::LoadedModule loaded;
    loaded.begin = loaded.load_bias = begin;
    loaded.end = begin + bytes;
    loaded.path = path;
    loaded.headers = kNoHeaders;
    const format::Ref ref = signal_safe::session.code_map.add_module(loaded);
    EXPECT_NE(ref, 0u);
    modules_.push_back(ref);
    auto& module = *signal_safe::session.arena.at<format::Module>(ref);
    if (!build_id.empty()) module.build_id = string(build_id);
    return module;
  }

 private:
  std::vector<format::Ref> modules_;
};

}  // namespace fbleprof::test
