// The names given to --exact that no module had. They are known only at the end, because a library
// may be loaded at any time; in attached programs, when the modules are chosen.
#pragma once

namespace fbleprof::capture {

// Says which these names are, and which modules there were. Only in the program that fble-prof
// started: its children are other programs. Any handler may call this.
void remark_unknown_names();

}  // namespace fbleprof::capture
