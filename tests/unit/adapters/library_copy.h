// A copy of a library, loaded for this program alone, that lacks some of its functions.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fbleprof::adapters {

class LibraryCopy {
 public:
  LibraryCopy(const char* path, const std::vector<std::string>& without) {
    std::ifstream whole(path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(whole), {}};
    for (const std::string& name : without) {
      // Under another name it is not found.
      const std::string symbol = '\0' + name + '\0';
      for (std::size_t at; (at = bytes.find(symbol)) != std::string::npos;) bytes[at + 1] = '!';
    }
    char copy[] = "/tmp/fbleprof-library-XXXXXX";
    const int file = mkstemp(copy);
    EXPECT_EQ(write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(file);
    path_ = copy;
    handle_ = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  // Stays loaded: the adapter may still know its functions.
  ~LibraryCopy() { unlink(path_.c_str()); }
  LibraryCopy(const LibraryCopy&) = delete;
  LibraryCopy& operator=(const LibraryCopy&) = delete;

  void* find(const char* name) const { return dlsym(handle_, name); }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace fbleprof::adapters
