// The label that our pprof files put on samples of contexts whose calls were not counted. Read
// again, the file's own counts of calls tell the same, so readers of ours ignore the label.
#pragma once

namespace fbleprof::profile {

inline constexpr char kCallsLabel[] = "calls";
inline constexpr char kNotCounted[] = "not counted";

}  // namespace fbleprof::profile
