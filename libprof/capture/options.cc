#include "capture/options.h"

#include <signal.h>

#include <iterator>

#include "format/events.h"
#include "format/size_suffix.h"
#include "signal_safe/shadow_stack.h"

namespace fbleprof::capture {

namespace {

void complain(Settings& settings, const char* name, const char* value, const char* expected) {
  constexpr std::size_t kMostShown = 100;
  Text<kMostShown + 1> shown{value};
  settings.complaints.add(name)
      .add('=')
      .add(shown.c_str())
      .add(shown.was_cut() ? "..." : "")
      .add(": expected ")
      .add(expected)
      .add("; the default is used\n");
}

bool read_number(const char* text, std::uint64_t* value, const char** rest) {
  std::uint64_t result = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (result > (~std::uint64_t{0} - 9) / 10) return false;
    result = result * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  *value = result;
  *rest = at;
  return at != text;
}

bool read_time(const char* text, std::uint64_t* ns) {
  const char* rest;
  return read_number(text, ns, &rest) && !*rest;
}

// A number followed by ms, s, m or h; without a unit, seconds. Up to 1000 hours.
bool read_duration(const char* text, std::uint64_t* ns) {
  constexpr std::uint64_t kMostMs = 3'600'000'000;
  std::uint64_t value, unit_ms;
  const char* rest;
  if (!read_number(text, &value, &rest)) return false;
  if (equal(rest, "ms")) {
    unit_ms = 1;
  } else if (equal(rest, "s") || !*rest) {
    unit_ms = 1000;
  } else if (equal(rest, "m")) {
    unit_ms = 60'000;
  } else if (equal(rest, "h")) {
    unit_ms = 3'600'000;
  } else {
    return false;
  }
  if (value > kMostMs / unit_ms) return false;
  *ns = value * unit_ms * 1'000'000;
  return true;
}

// USR1, USR2, or RTMIN+N: signals that programs can spare.
bool read_signal(const char* text, int* number) {
  if (text[0] == 'S' && text[1] == 'I' && text[2] == 'G') text += 3;
  if (equal(text, "USR1")) return *number = SIGUSR1, true;
  if (equal(text, "USR2")) return *number = SIGUSR2, true;
  // libc reserves the kernel's first two real-time signals.
  constexpr int kFirst = 34, kMost = 30;
  for (const char* name = "RTMIN"; *name; ++name, ++text) {
    if (*text != *name) return false;
  }
  std::uint64_t more = 0;
  const char* rest = text;
  if (*text == '+' && !read_number(text + 1, &more, &rest)) return false;
  if (*rest || more > kMost) return false;
  *number = kFirst + static_cast<int>(more);
  return true;
}

bool read_switch(const char* text, bool* value) {
  for (const char* on : {"1", "on", "yes", "true"}) {
    if (equal(text, on)) return *value = true, true;
  }
  for (const char* off : {"0", "off", "no", "false", ""}) {
    if (equal(text, off)) return *value = false, true;
  }
  return false;
}

bool is_off(const char* text) {
  bool is_on = true;
  return read_switch(text, &is_on) && !is_on;
}

// A part of a list would mean something else than the list.
template <std::size_t kCapacity>
bool read_list(const char* text, Text<kCapacity>* list) {
  *list = Text<kCapacity>{text};
  if (!list->was_cut()) return true;
  list->clear();
  return false;
}

bool read_rate(const char* text, std::uint32_t* rate) {
  std::uint64_t value;
  const char* rest;
  if (!read_number(text, &value, &rest) || *rest || value < 1 || value > 20000) return false;
  *rate = static_cast<std::uint32_t>(value);
  return true;
}

bool read_depth(const char* text, std::uint32_t* depth) {
  std::uint64_t value;
  const char* rest;
  if (!read_number(text, &value, &rest) || *rest || value < 1 || value > 60000) return false;
  *depth = static_cast<std::uint32_t>(value);
  return true;
}

bool read_throttle(const char* text, std::uint64_t* calls) {
  std::uint64_t value;
  const char* rest;
  if (!read_number(text, &value, &rest) || *rest || value < 1) return false;
  *calls = value;
  return true;
}

bool read_tick_period(const char* text, std::uint64_t* ticks) {
  std::uint64_t value;
  const char* rest;
  if (!read_number(text, &value, &rest) || *rest || value < 1 || value > 1'000'000'000)
    return false;
  *ticks = value;
  return true;
}

// Bytes, or with K, M or G; up to 64G.
bool read_bytes(const char* text, std::uint64_t* bytes) {
  std::uint64_t value;
  const char* rest;
  if (!read_number(text, &value, &rest)) return false;
  const int shift = format::shift_of_suffix(*rest);
  if (*rest && (shift == 0 || rest[1])) return false;
  if (value > (64ull << 30 >> shift)) return false;
  *bytes = value << shift;
  return true;
}

bool read_memory(const char* text, std::uint64_t* bytes) {
  std::uint64_t value;
  if (!read_bytes(text, &value) || value < 1 << 20) return false;
  // The largest accepted value is slightly above the largest possible size.
  if (value > signal_safe::kMostArenaBytes) value = signal_safe::kMostArenaBytes;
  *bytes = value / 4096 * 4096;
  return true;
}

template <typename Enum, std::size_t kCount>
bool read_name(const char* text, const char* const (&names)[kCount], Enum* value) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (equal(text, names[i])) return *value = static_cast<Enum>(i), true;
  }
  return false;
}

// An event is sampled besides the CPU clock.
bool read_clock(const char* text, signal_safe::Options* options) {
  constexpr const char* kClocks[] = {"cpu", "wall", "ticks"};
  if (read_name(text, kClocks, &options->clock)) return options->event = 0, true;
  for (std::uint32_t i = 0; i < format::kEventCount; ++i) {
    if (!equal(text, format::kEvents[i].name)) continue;
    options->clock = format::Clock::kCpu;
    options->event = static_cast<std::uint8_t>(i + 1);
    return true;
  }
  return false;
}

// MODE or MODE,mmap; a mode that is a number of bytes is the sampling period.
bool read_allocations(const char* text, signal_safe::Options* options) {
  using Mode = signal_safe::AllocationMode;
  Text<32> mode;
  while (*text && *text != ',') mode.add(*text++);
  options->mappings = equal(text, ",mmap");
  if (*text && !options->mappings) return false;
  constexpr const char* kModes[] = {"off", "hooks", "sample", "exact"};
  bool is_on;
  std::uint64_t period;
  if (read_name(mode.c_str(), kModes, &options->allocations)) return true;
  if (read_switch(mode.c_str(), &is_on)) {
    // 0 and 1 turn it off and on.
    options->allocations = is_on ? Mode::kByHooks : Mode::kOff;
    return true;
  }
  if (!read_bytes(mode.c_str(), &period) || period == 0) return false;
  options->allocations = Mode::kSampled;
  options->bytes_per_sample = period;
  return true;
}

}  // namespace

Settings read_settings(char** environment) {
  Settings settings;
  constexpr char kDuration[] = "a time as 500ms, 10s, 5m or 1h";
  constexpr const char* kRules[] = {"pair", "suffix", "none"};
  constexpr const char* kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                    "SLURM_PROCID"};
  std::size_t rank_from = std::size(kRanks);
  for (char** variable = environment; variable && *variable; ++variable) {
    const char* text = *variable;
    const char* value;
    auto is = [&](const char* name) { return (value = value_of(text, name)) != nullptr; };
    auto check = [&](bool valid, const char* name, const char* expected) {
      if (!valid) complain(settings, name, value, expected);
    };
    if (is("FBLEPROF_OUT")) {
      if (*value) settings.out = Path{value};
    } else if (is("FBLEPROF_DIRECTORY")) {
      settings.directory = Path{value};
    } else if (is("FBLEPROF_RATE")) {
      check(read_rate(value, &settings.rate_hz), "FBLEPROF_RATE", "1 to 20000 (Hz)");
    } else if (is("FBLEPROF_CLOCK")) {
      check(read_clock(value, &settings.recording), "FBLEPROF_CLOCK", format::kClockNames);
    } else if (is("FBLEPROF_COMPACT")) {
      check(read_name(value, kRules, &settings.recording.compaction), "FBLEPROF_COMPACT",
            "pair, suffix or none");
    } else if (is("FBLEPROF_MEMORY")) {
      check(read_memory(value, &settings.memory_bytes), "FBLEPROF_MEMORY",
            "1M to 64G (bytes, or with K, M or G)");
    } else if (is("FBLEPROF_CALLSITES")) {
      check(read_switch(value, &settings.recording.call_sites), "FBLEPROF_CALLSITES", "on or off");
    } else if (is("FBLEPROF_LEAVES")) {
      check(read_switch(value, &settings.recording.leaves), "FBLEPROF_LEAVES", "on or off");
    } else if (is("FBLEPROF_FAULTS")) {
      check(read_switch(value, &settings.recording.faults), "FBLEPROF_FAULTS", "on or off");
    } else if (is("FBLEPROF_WAITS")) {
      bool is_on = false;
      check(read_switch(value, &is_on), "FBLEPROF_WAITS", "on or off");
      settings.waits = is_on ? Settings::Waits::kOn : Settings::Waits::kOff;
    } else if (is("FBLEPROF_NATIVE_BELOW")) {
      check(read_switch(value, &settings.recording.native_below), "FBLEPROF_NATIVE_BELOW",
            "on or off");
    } else if (is("FBLEPROF_DEPTH")) {
      check(read_depth(value, &settings.recording.depth_limit), "FBLEPROF_DEPTH",
            "1 to 60000 (contexts on a path)");
    } else if (is("FBLEPROF_TICK_PERIOD")) {
      check(read_tick_period(value, &settings.recording.tick_period), "FBLEPROF_TICK_PERIOD",
            "1 to 1000000000 (ticks)");
    } else if (is("FBLEPROF_EXACT")) {
      check(is_off(value) || read_list(value, &settings.exact), "FBLEPROF_EXACT",
            "less than 1024 bytes");
    } else if (is("FBLEPROF_THROTTLE")) {
      check(read_throttle(value, &settings.recording.throttle), "FBLEPROF_THROTTLE",
            "1 or more (calls a second)");
    } else if (is("FBLEPROF_EXACT_EXCEPT")) {
      settings.exact_except = Text<1024>{value};
    } else if (is("FBLEPROF_EXACT_PLANS")) {
      settings.exact_plans = Path{value};
    } else if (is("FBLEPROF_EXACT_TOOL")) {
      settings.exact_tool = Path{value};
    } else if (is("FBLEPROF_FILTER")) {
      check(read_list(value, &settings.filter), "FBLEPROF_FILTER", "less than 4096 bytes");
    } else if (is("FBLEPROF_THREADS")) {
      check(read_list(value, &settings.threads), "FBLEPROF_THREADS", "less than 1024 bytes");
    } else if (is("FBLEPROF_FILTER_TABLES")) {
      settings.filter_tables = Path{value};
    } else if (is("FBLEPROF_FILTER_TOOL")) {
      settings.filter_tool = Path{value};
    } else if (is("FBLEPROF_RUN")) {
      check(read_time(value, &settings.run_start_ns), "FBLEPROF_RUN",
            "nanoseconds since 1970, as fble-prof sets it");
    } else if (is("FBLEPROF_START")) {
      check(read_switch(value, &settings.start), "FBLEPROF_START", "on or off");
    } else if (is("FBLEPROF_CHILDREN")) {
      check(read_list(value, &settings.children), "FBLEPROF_CHILDREN", "less than 1024 bytes");
    } else if (is("FBLEPROF_PROGRAM")) {
      std::uint64_t pid = 0;
      const char* rest;
      check(read_number(value, &pid, &rest) && !*rest, "FBLEPROF_PROGRAM", "a process id");
      settings.program_pid = static_cast<std::uint32_t>(pid);
    } else if (is("FBLEPROF_DELAY")) {
      check(read_duration(value, &settings.delay_ns), "FBLEPROF_DELAY", kDuration);
    } else if (is("FBLEPROF_DURATION")) {
      check(read_duration(value, &settings.duration_ns), "FBLEPROF_DURATION", kDuration);
    } else if (is("FBLEPROF_CONTROL_SIGNAL")) {
      check(!*value || read_signal(value, &settings.control_signal), "FBLEPROF_CONTROL_SIGNAL",
            "USR1, USR2 or RTMIN+N");
    } else if (is("FBLEPROF_VERBOSE")) {
      check(read_switch(value, &settings.verbose), "FBLEPROF_VERBOSE", "on or off");
    } else if (is("FBLEPROF_PYTHON")) {
      check(read_switch(value, &settings.python), "FBLEPROF_PYTHON", "on or off");
    } else if (is("FBLEPROF_NATIVE")) {
      check(read_switch(value, &settings.recording.runtime_frames), "FBLEPROF_NATIVE", "on or off");
    } else if (is("FBLEPROF_ALLOCS")) {
      check(
          read_allocations(value, &settings.recording), "FBLEPROF_ALLOCS",
          "exact, sample, hooks, off or the bytes to a sample (with K, M or G); then \",mmap\" or "
          "nothing");
    } else {
      // The first of these that is set counts, wherever the environment has it: a job of a batch
      // system may start MPI with other ranks.
      for (std::size_t i = 0; i < rank_from; ++i) {
        if (!is(kRanks[i])) continue;
        settings.mpi_rank = Text<16>{value};
        rank_from = i;
      }
    }
  }
  if (settings.recording.clock == format::Clock::kTicks &&
      (settings.delay_ns != 0 || settings.duration_ns != 0)) {
    settings.complaints.add(
        "FBLEPROF_DELAY and FBLEPROF_DURATION need a clock of time, not of ticks\n");
    settings.delay_ns = settings.duration_ns = 0;
  }
  return settings;
}

}  // namespace fbleprof::capture
