// The profiles to compare with: those that were named, and those beside the served files.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/web/site.h"

namespace fbleprof::web {

// Which file this is, whatever it says: changes when it is replaced. "" = there is none.
std::string file_identity(const std::string& path);
// Which file this is and how it is at present: changes when it is replaced or written. "" = there
// is none.
std::string file_state(const std::string& path);

class Bases {
 public:
  Bases(std::vector<std::string> served, std::vector<std::string> named);

  // Those that exist now. Thread-safe.
  std::vector<Base> list();

 private:
  std::vector<std::string> profiles_beside(const std::string& file);
  bool is_profile(const std::string& path);

  const std::vector<std::string> served_, named_;
  std::mutex mutex_;
  // The states of files that are no profiles, so that a large directory is read only once.
  std::unordered_map<std::string, std::string> others_;
};

}  // namespace fbleprof::web
