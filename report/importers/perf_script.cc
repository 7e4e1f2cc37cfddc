#include "report/importers/perf_script.h"

#include <algorithm>
#include <charconv>

namespace fbleprof::importers {

using namespace profile;

namespace {

constexpr std::string_view kBlanks = " \t";

struct Header {
  std::string_view comm;
  std::uint32_t pid = 0, tid = 0;
  bool has_pid = false;
  std::optional<std::uint64_t> time_ns;
  std::optional<std::uint64_t> period;
  std::string_view event;  // empty: a side-band record, no sample
  std::string_view rest;
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Takes the next word off `text`, which then begins with the following one.
std::string_view take_word(std::string_view& text) {
  text = text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlanks));
  text.remove_prefix(word.size());
  text = text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
  return word;
}

template <class Number>
bool is_number(std::string_view text, Number& value, int base = 10) {
  if (text.empty()) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

// "6738", "6738/6740" or, for the idle task of old perfs, "-1".
bool is_task(std::string_view word, Header& header) {
  const std::size_t slash = word.find('/');
  header.has_pid = slash != std::string_view::npos;
  if (word == "-1") {
    header.tid = 0;
    return true;
  }
  if (!header.has_pid) return is_number(word, header.tid);
  return is_number(word.substr(0, slash), header.pid) &&
         is_number(word.substr(slash + 1), header.tid);
}

// "5799.127143:" in seconds.
bool is_time(std::string_view word, std::uint64_t& ns) {
  if (!word.ends_with(':')) return false;
  word.remove_suffix(1);
  const std::size_t dot = word.find('.');
  std::uint64_t seconds = 0, fraction = 0;
  if (dot == std::string_view::npos || !is_number(word.substr(0, dot), seconds)) return false;
  const std::string_view decimals = word.substr(dot + 1);
  if (decimals.size() > 9 || !is_number(decimals, fraction)) return false;
  for (std::size_t i = decimals.size(); i < 9; ++i) fraction *= 10;
  ns = seconds * 1'000'000'000 + fraction;
  return true;
}

// The part after the task, from the CPU to the event.
bool parse_rest(std::string_view text, bool with_time, Header& header) {
  std::string_view word = take_word(text);
  if (word.starts_with('[') && word.ends_with(']')) word = take_word(text);
  if (with_time) {
    std::uint64_t ns = 0;
    if (!is_time(word, ns)) {
      word = take_word(text);  // one word of interrupt flags may stand before it
      if (!is_time(word, ns)) return false;
    }
    header.time_ns = ns;
    word = take_word(text);
  }
  if (word.starts_with("PERF_RECORD_")) {
    header.event = {};
    return true;
  }
  std::uint64_t period = 0;
  if (is_number(word, period)) {
    header.period = period;
    word = take_word(text);
  }
  std::uint64_t ignored;
  if (word.size() < 2 || !word.ends_with(':') || is_time(word, ignored)) return false;
  if (is_number(word.substr(0, word.size() - 1), ignored)) return false;
  header.event = word.substr(0, word.size() - 1);
  header.rest = trim(text);
  return true;
}

// The command may hold blanks and numbers: the task is the first number after which everything
// fits.
bool parse_header(std::string_view line, bool with_time, Header& header) {
  line = trim(line);
  std::size_t at = line.find_first_of(kBlanks);
  while (at != std::string_view::npos) {
    const std::size_t begin = line.find_first_not_of(kBlanks, at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    Header found;
    if (is_task(line.substr(begin, end - begin), found) &&
        parse_rest(line.substr(end), with_time, found)) {
      found.comm = line.substr(0, at);
      header = found;
      return true;
    }
    at = end < line.size() ? end : std::string_view::npos;
  }
  return false;
}

// A time makes the match certain, so lines with a time are tried first.
bool parse_header(std::string_view line, Header& header) {
  return parse_header(line, true, header) || parse_header(line, false, header);
}

// Whether the line is no frame, although its first word is a number in hexadecimal: "cc1", "dd".
bool is_certain_header(std::string_view line) {
  Header header;
  return line.find(": ") != std::string_view::npos && parse_header(line, true, header);
}

struct Frame {
  std::string_view symbol, module;
};

// "ADDRESS SYMBOL+0xOFFSET (MODULE)". Symbols and modules may hold blanks and parentheses.
bool parse_frame(std::string_view text, Frame& frame) {
  text = trim(text);
  const std::size_t blank = text.find_first_of(kBlanks);
  std::uint64_t address;
  if (!is_number(text.substr(0, blank), address, 16)) return false;
  frame = {};
  if (blank == std::string_view::npos) return true;
  text = trim(text.substr(blank));
  // The offset ends the symbol, whatever the symbol or module contains.
  for (std::size_t plus = text.rfind("+0x"); plus != std::string_view::npos && plus != 0;
       plus = text.rfind("+0x", plus - 1)) {
    const std::size_t end = text.find_first_not_of("0123456789abcdef", plus + 3);
    if (end == plus + 3) continue;
    if (end == std::string_view::npos) {
      frame.symbol = text.substr(0, plus);
      return true;
    }
    if (text.substr(end).starts_with(" (") && text.ends_with(')')) {
      frame.symbol = text.substr(0, plus);
      frame.module = text.substr(end + 2, text.size() - end - 3);
      return true;
    }
  }
  frame.symbol = text;
  if (!text.ends_with(')')) return true;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    depth += text[i] == ')' ? 1 : text[i] == '(' ? -1 : 0;
    if (depth != 0) continue;
    // A parameter list follows its name without a blank.
    if (i == 0 || text[i - 1] == ' ') {
      frame.symbol = trim(text.substr(0, i));
      frame.module = text.substr(i + 1, text.size() - i - 2);
    }
    return true;
  }
  return true;
}

std::string_view without_modifiers(std::string_view event) {
  const std::size_t colon = event.rfind(':');
  if (colon == std::string_view::npos) return event;
  const bool modifiers =
      event.substr(colon + 1).find_first_not_of("ukhGHpPDSWIeb") == std::string_view::npos;
  return modifiers ? event.substr(0, colon) : event;
}

}  // namespace

bool is_perf_script_header(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  Header header;
  return parse_header(line, header);
}

PerfScriptParser::PerfScriptParser(std::string name) : TextParser(std::move(name)) {}

Status PerfScriptParser::parse(std::string_view text) {
  if (text.find_first_not_of(kBlanks) == std::string_view::npos) {
    end_sample();
    return {};
  }
  if (text.starts_with('#')) return {};
  const bool indented = text[0] == ' ' || text[0] == '\t';
  if (indented && sample_ && expects_stack_) {
    if (!is_certain_header(text) && add_frame(text)) return {};
    // Source lines, from -F +srcline, follow their frame. They are not needed.
    if (!sample_->frames.empty() && !is_perf_script_header(text)) return {};
  }
  return begin_sample(text);
}

Status PerfScriptParser::begin_sample(std::string_view text) {
  Header header;
  if (!parse_header(text, header)) {
    return damage("neither a sample nor a frame of one",
                  "this importer reads what `perf script` prints by itself; without -F, -s or -i?");
  }
  end_sample();
  if (header.event.empty()) {
    expects_stack_ = false;
    return {};
  }
  if (header.time_ns) {
    first_ns_ = any_time_ ? std::min(first_ns_, *header.time_ns) : *header.time_ns;
    last_ns_ = any_time_ ? std::max(last_ns_, *header.time_ns) : *header.time_ns;
    any_time_ = true;
  }
  lacks_pids_ |= !header.has_pid;
  const Event& event_of = event(header.event, header.period.has_value());
  sample_.emplace();
  sample_->event = event_of.metric;
  sample_->event_is_time = event_of.is_time;
  sample_->period = header.period.value_or(1);
  sample_->thread = thread(header.has_pid ? header.pid : 0, header.tid, header.comm);
  expects_stack_ = true;
  // Without stacks the sampled function is here; what tracepoints write here is useless.
  Frame frame;
  if (!header.rest.empty() && header.rest.ends_with(')') && parse_frame(header.rest, frame)) {
    add_frame(header.rest);
    expects_stack_ = false;
  }
  return {};
}

bool PerfScriptParser::add_frame(std::string_view text) {
  Frame frame;
  if (!parse_frame(text, frame)) return false;
  sample_->frames.push_back(function(frame.symbol, frame.module));
  return true;
}

void PerfScriptParser::end_sample() {
  if (!sample_) return;
  ThreadOfFile& on = threads_[sample_->thread];
  NodeId at = on.root;
  for (std::size_t i = sample_->frames.size(); i-- > 0;) {
    at = builder_.child(at, sample_->frames[i]);
  }
  if (sample_->frames.empty()) {
    at = builder_.child(at, builder_.named_function("[no stack]", FunctionKind::kImported));
  }
  builder_.charge(at, sample_->event, sample_->period);
  builder_.charge(at, *samples_, 1);
  ++on.thread.samples;
  if (sample_->event_is_time) on.thread.cpu_ns += sample_->period;
  sample_.reset();
}

const PerfScriptParser::Event& PerfScriptParser::event(std::string_view name, bool has_period) {
  const std::string_view base = without_modifiers(name);
  const bool is_clock = base == "cpu-clock" || base == "task-clock";
  auto& known = is_clock && !has_period ? clock_samples_ : events_;
  if (const auto it = known.find(name); it != known.end()) return it->second;
  // These two names have a special meaning in our profiles.
  const bool is_taken = name == "calls" || name == "samples";
  const bool is_time = is_clock && has_period;
  const std::string metric = is_taken               ? fmt::format("event {}", name)
                             : is_clock && !is_time ? fmt::format("{} samples", name)
                                                    : std::string(name);
  const Event added{builder_.add_metric(metric, is_time ? "ns" : "count"), is_time};
  if (!samples_) samples_ = builder_.add_metric("samples", "count");
  return known.emplace(name, added).first->second;
}

ProcessId PerfScriptParser::process(std::uint32_t pid, std::string_view comm) {
  const auto [it, added] = process_index_.try_emplace(pid, processes_.size());
  if (added) {
    Process process;
    process.file = builder_.string(name_);
    process.executable = builder_.string(comm);
    process.pid = pid;
    process.compaction = Compaction::kNone;
    process.is_imported = true;
    processes_.push_back(std::move(process));
  }
  return ProcessId(it->second);
}

std::size_t PerfScriptParser::thread(std::uint32_t pid, std::uint32_t tid, std::string_view comm) {
  const auto [it, added] =
      thread_index_.try_emplace({pid, tid, std::string(comm)}, threads_.size());
  if (added) {
    ThreadOfFile& made = threads_.emplace_back();
    made.process = process(pid, comm);
    made.thread.process = made.process;
    made.thread.tid = tid;
    made.thread.name = builder_.string(comm);
    made.thread.threads_served = 1;
    made.root = builder_.add_tree(builder_.named_function("[root]", FunctionKind::kRoot),
                                  made.process, ThreadId(it->second));
  }
  return it->second;
}

FunctionId PerfScriptParser::function(std::string_view symbol, std::string_view module) {
  const bool is_inlined = module == "inlined";
  if (is_inlined) module = {};
  const bool has_module = !module.empty() && module != "[unknown]";
  ModuleId module_id;
  if (has_module) {
    const auto it = modules_.find(module);
    module_id =
        it != modules_.end()
            ? it->second
            : modules_.emplace(module, builder_.add_module({builder_.string(module), {}, 0}))
                  .first->second;
  }
  StringId name;
  if (!symbol.empty() && symbol != "[unknown]") {
    name = builder_.string(symbol);
  } else if (!has_module) {
    name = builder_.string("[unknown]");
  } else {
    const std::string_view base = base_name(module);
    name = builder_.string(base.starts_with('[') ? std::string(base) : fmt::format("[{}]", base));
  }
  const std::uint64_t where = is_inlined ? 0x80000000u : module_id ? module_id.index() + 1u : 0u;
  const std::uint64_t key = where << 32 | name.index();
  if (const std::uint32_t known = functions_.find(key); known != FlatMap::kAbsent) {
    return FunctionId(known);
  }
  const FunctionId made =
      builder_.add_function({.kind = FunctionKind::kImported,
                             .module = module_id,
                             .name = name,
                             .flags = is_inlined ? kFunctionInlined : std::uint16_t{0}});
  functions_.insert(key, made.index());
  return made;
}

Result<Profile> PerfScriptParser::finish() {
  end_sample();
  if (threads_.empty()) {
    return Error{name_, {}, "no sample in it", "was anything recorded? see `perf report`"};
  }
  const StringId note =
      lacks_pids_ ? builder_.string("threads only: `perf script -F +pid` tells processes apart")
                  : StringId();
  for (Process& process : processes_) {
    process.duration_ns = last_ns_ - first_ns_;
    if (note) process.notes.push_back(note);
    builder_.add_process(std::move(process));
  }
  for (ThreadOfFile& thread : threads_) builder_.add_thread(thread.thread);
  return builder_.build();
}

}  // namespace fbleprof::importers
