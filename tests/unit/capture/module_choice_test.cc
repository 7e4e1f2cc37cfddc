// Which files --exact may change, and which it changes by default.
#include "capture/module_choice.h"

#include <gtest/gtest.h>

namespace fbleprof::capture {
namespace {

bool may_be_changed(const char* path) { return capture::may_be_changed(format::Module{}, path); }

bool is_chosen_by_default(const char* path, std::uint32_t flags = 0) {
  format::Module module{};
  module.flags = flags;
  return is_chosen({kProgramAndLibraries, ""}, module, path);
}

TEST(ModuleChoice, LibcAndTheRecorderAreNeverChanged) {
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/lib/libc-2.31.so", "/lib/libpthread-2.33.9000.so",
        "/lib64/ld-linux-x86-64.so.2", "linux-vdso.so.1", "/usr/lib/libfbleprof.so",
        "libfbleprof_lua.so", "/usr/lib/libasan.so.8", "librt.so",
        "/usr/lib/clang/16/lib/linux/libclang_rt.asan-x86_64.so"}) {
    EXPECT_FALSE(may_be_changed(path)) << path;
    EXPECT_FALSE(is_chosen_by_default(path, format::kModuleIsMain)) << path;
  }
}

TEST(ModuleChoice, OthersWhoseNamesBeginLikeTheirsAreLikeAnyOther) {
  for (const char* path :
       {"/usr/lib/libc-client.so.2007e.0", "/opt/librt-audio.so", "/opt/libdl-2-x.so",
        "/opt/libc.extra.so", "/opt/libc++.so.1", "/opt/libc-2.31.solo"}) {
    EXPECT_TRUE(may_be_changed(path)) << path;
    EXPECT_TRUE(is_chosen_by_default(path)) << path;
  }
  for (const char* path : {"/home/me/libc-bench", "/home/me/libc", "/home/me/librt.test",
                           "/home/me/libasan-2", "/home/me/libm.test"}) {
    EXPECT_TRUE(is_chosen_by_default(path, format::kModuleIsMain)) << path;
  }
}

TEST(ModuleChoice, HandWrittenLibrariesAreChangedOnlyIfNamed) {
  const char* path = "/usr/lib/libcrypto.so.3";
  EXPECT_FALSE(is_chosen_by_default(path));
  EXPECT_FALSE(is_chosen_by_default("/venv/cryptography.libs/libcrypto-ea28cefb.so.1.1"));
  for (const char* modules : {kAllModules, "libcrypto", "libm,libcrypto"}) {
    EXPECT_TRUE(is_chosen({modules, ""}, format::Module{}, path)) << modules;
  }
}

}  // namespace
}  // namespace fbleprof::capture
