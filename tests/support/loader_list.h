// Another list of loaded objects, for a part of a test. Nothing may be loaded meanwhile.
#pragma once

#include <link.h>

#include <vector>

namespace fbleprof::test {

class LoaderList {
 public:
  explicit LoaderList(const std::vector<link_map*>& maps) : before_(_r_debug.r_map) {
    link_map** next = &_r_debug.r_map;
    for (link_map* map : maps) {
      *next = map;
      next = &map->l_next;
    }
    *next = nullptr;
  }
  ~LoaderList() { _r_debug.r_map = before_; }
  LoaderList(const LoaderList&) = delete;
  LoaderList& operator=(const LoaderList&) = delete;

 private:
  link_map* before_;
};

}  // namespace fbleprof::test
