// Modules in link namespaces of their own (dlmopen, and auditors of the loader).
#pragma once

namespace fbleprof::capture {

// Says of these modules, if --exact would choose them, that they are only sampled. Before
// glibc 2.35 the loader does not tell of them.
void remark_other_namespaces();

}  // namespace fbleprof::capture
