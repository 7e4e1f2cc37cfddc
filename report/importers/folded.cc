#include "report/importers/folded.h"

#include <charconv>

namespace fbleprof::importers {

using namespace profile;

namespace {

struct Folded {
  std::string_view stack;
  std::uint64_t value = 0;
  bool has_two_numbers = false;  // or the last name ends in a number: "main;thread 1 30"
};

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kRoot = "[root]";

// What is wrong with the line, or nothing.
const char* split(std::string_view line, Folded& out) {
  line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  const std::size_t blank = line.find_last_of(kBlanks);
  if (blank == std::string_view::npos) return "no number after the stack";
  const std::string_view number = line.substr(blank + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), out.value);
  if (error == std::errc::result_out_of_range) return "a number beyond 64 bits";
  if (error != std::errc() || end != number.data() + number.size()) {
    return "no whole number at the end of the line";
  }
  out.stack = line.substr(0, line.find_last_not_of(kBlanks, blank) + 1);
  out.stack.remove_prefix(std::min(out.stack.find_first_not_of(kBlanks), out.stack.size()));
  const std::size_t before = out.stack.find_last_of(kBlanks);
  out.has_two_numbers =
      before != std::string_view::npos &&
      out.stack.find_first_not_of("0123456789", before + 1) == std::string_view::npos;
  return out.stack.empty() ? "no stack before the number" : nullptr;
}

}  // namespace

bool is_folded_line(std::string_view line) {
  Folded folded;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return split(line, folded) == nullptr;
}

FoldedParser::FoldedParser(std::string name) : TextParser(std::move(name)) {
  samples_ = builder_.add_metric("samples", "count", Role::kAmount);
  Process process;
  process.file = process.executable = builder_.string(name_);
  process.compaction = Compaction::kNone;
  process.is_imported = true;
  const ProcessId process_id = builder_.add_process(std::move(process));
  Thread thread;
  thread.process = process_id;
  thread.threads_served = 1;
  root_ = builder_.add_tree(builder_.named_function(kRoot, FunctionKind::kRoot), process_id,
                            builder_.add_thread(thread));
}

Status FoldedParser::parse(std::string_view text) {
  if (text.find_first_not_of(kBlanks) == std::string_view::npos || text.starts_with("# "))
    return {};
  Folded folded;
  if (const char* wrong = split(text, folded)) {
    return damage(wrong, "folded stacks look like this: main;work;inner 12");
  }
  NodeId at = root_;
  // The root's own cost is a separate stack.
  if (folded.stack == kRoot) folded.stack = {};
  for (std::string_view stack = folded.stack; !stack.empty();) {
    const std::size_t end = std::min(stack.find(';'), stack.size());
    if (end != 0) {
      at = builder_.child(at,
                          builder_.named_function(stack.substr(0, end), FunctionKind::kImported));
    }
    stack.remove_prefix(std::min(end + 1, stack.size()));
  }
  builder_.charge(at, samples_, folded.value);
  if (first_line_ == 0) first_line_ = line_number_;
  all_have_two_numbers_ &= folded.has_two_numbers;
  ++stacks_;
  return {};
}

Result<Profile> FoldedParser::finish() {
  if (first_line_ == 0)
    return Error{name_, {}, "no stack in it", "was the program sampled at all?"};
  if (all_have_two_numbers_ && stacks_ > 1) {
    return Error{
        name_,
        {},
        fmt::format(
            "line {}: two numbers after the stack, and after every other: this looks like a "
            "comparison by difffolded.pl",
            first_line_),
        "name what it compares: fble-prof-report --diff BEFORE AFTER"};
  }
  return builder_.build();
}

}  // namespace fbleprof::importers
