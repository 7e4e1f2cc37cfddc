// The views that are tables: self, dominated, edges, block.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/text/input.h"
#include "report/text/table.h"

namespace fbleprof::report {

enum class FunctionOrder { kSelf, kDominated };

// --self and --dominated: a row a function. CSV: name,self,dominated,calls,...
std::string function_view(const Input& input, FunctionOrder order);

// --edges: a row a pair of caller and callee. CSV: caller,callee,calls,cost,...
std::string pair_view(const Input& input);

// --block: all functions that `pattern` names, one after the other. Fails if it names none.
Result<std::string> block_view(const Input& input, const std::string& pattern);

// Behind the name of what was reached by a jump of the function that was called: the machine's
// caller is not the source's.
inline constexpr char kThroughTailCall[] = "  (through a tail call)";

// What tables of figures share. Rows to show of `size`, and a note about the others.
std::size_t rows_to_show(const Look& look, std::size_t size, std::vector<std::string>& notes);
// The table as the look wants it; JSON within json_document.
std::string render_table(const Input& input, const Table& table, std::string_view view);
// Cost a call, for people, with "≥" before it if the cost is a lower bound; empty without calls.
Cell average_cell(const Input& input, std::uint64_t cost, std::uint64_t calls,
                  bool is_bound = false);
// What "≥" means.
std::string bound_note();

// "kept 1.2 s of 3.4 s (35%)", or what percentages are of. One line, without its end.
std::string kept_line(const Input& input);

// The object of JSON views around their rows: format, version, view, metric, unit, total, kept and,
// under `rows_name`, `rows` (which is JSON).
std::string json_document(const Input& input, std::string_view view, std::string_view rows_name,
                          const std::string& rows);

}  // namespace fbleprof::report
