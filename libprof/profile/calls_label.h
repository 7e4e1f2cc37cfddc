// The label that our pprof files put on samples of contexts whose calls were not counted. The
// file's own call counts say the same, so our reader ignores the label.
#pragma once

namespace fbleprof::profile {

inline constexpr char kCallsLabel[] = "calls";
inline constexpr char kNotCounted[] = "not counted";

}  // namespace fbleprof::profile
