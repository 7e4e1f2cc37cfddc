// What pprof files call metrics of memory: the names of Go and tcmalloc, because viewers of heap
// profiles look for them. The exporter writes them, and the importer reads them as our metrics.
#pragma once

#include <string_view>

namespace fbleprof::profile {

struct PprofSampleType {
  std::string_view metric, type;
};
inline constexpr PprofSampleType kPprofSampleTypes[] = {{"allocations", "alloc_objects"},
                                                        {"allocated", "alloc_space"},
                                                        {"live-blocks", "inuse_objects"},
                                                        {"live", "inuse_space"}};

}  // namespace fbleprof::profile
