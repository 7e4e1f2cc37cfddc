// The environment variables of the recorder. A bad value does not disturb the program: the default
// is used and the reason noted.
#pragma once

#include <cstdint>

#include "capture/text.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

struct Settings {
  enum class Waits { kWithWallClock, kOff, kOn };

  signal_safe::Options recording;
  Waits waits = Waits::kWithWallClock;  // FBLEPROF_WAITS
  Path out{"mlmon.out"};                // FBLEPROF_OUT
  Path directory;  // FBLEPROF_DIRECTORY: of a relative `out`; empty, or not there: the process's
  std::uint32_t rate_hz = 1000;               // FBLEPROF_RATE, 1 to 20000
  std::uint64_t memory_bytes = 256ull << 20;  // FBLEPROF_MEMORY, 1M to 64G
  std::uint64_t run_start_ns = 0;             // FBLEPROF_RUN, realtime; 0: not known
  bool start = true;                          // FBLEPROF_START
  std::uint64_t delay_ns = 0;                 // FBLEPROF_DELAY: time before recording begins
  std::uint64_t duration_ns = 0;              // FBLEPROF_DURATION: then recording ends; 0: no limit
  Text<1024> children;                        // FBLEPROF_CHILDREN: all, none, or patterns
  std::uint32_t program_pid = 0;              // FBLEPROF_PROGRAM: their parent
  int control_signal = 0;                     // FBLEPROF_CONTROL_SIGNAL; 0: none
  Text<1024> exact;                           // FBLEPROF_EXACT; empty: nothing is rewritten
  Text<1024> exact_except;                    // FBLEPROF_EXACT_EXCEPT: not by default, names
  Path exact_plans, exact_tool;               // FBLEPROF_EXACT_PLANS, _TOOL: a folder, fble-prof
  Text<4096> filter;                          // FBLEPROF_FILTER: patterns; empty: all is kept
  Text<1024> threads;                         // FBLEPROF_THREADS: patterns; empty: all are kept
  Path filter_tables, filter_tool;            // FBLEPROF_FILTER_TABLES, _TOOL: a folder, the report
  bool verbose = false;                       // FBLEPROF_VERBOSE
  bool python = true;                         // FBLEPROF_PYTHON: its scripts are shown
  Text<16> mpi_rank;                          // from the MPI launcher; empty: none
  // Complaints about bad values, one per line; noted once there is a file.
  Text<1024> complaints;
};

// Reads `environment` itself rather than getenv, which some programs redefine.
Settings read_settings(char** environment);

}  // namespace fbleprof::capture
