#include <fmt/format.h>

#include "report/text/escape.h"
#include "report/text/table.h"
#include "report/views/file_views.h"

namespace fbleprof::report {
namespace {

std::string verify_text(const FileChecks& file, const Look& look) {
  std::string text;
  std::size_t broken = 0;
  for (const profile::Check& check : file.checks) {
    broken += !check.ok;
    text +=
        fmt::format("{}  {}  {}\n",
                    check.ok ? paint(look, Ink::kGood, "ok    ") : paint(look, Ink::kBad, "BROKEN"),
                    escape(check.what), paint(look, Ink::kDim, escape(check.detail)));
  }
  const std::size_t count = file.checks.size();
  return text + (broken == 0 ? fmt::format("{}: all {} invariants hold\n", escape(file.file), count)
                             : fmt::format("{}: {} of {} invariants are broken\n",
                                           escape(file.file), broken, count));
}

}  // namespace

std::string verify_view(const std::vector<FileChecks>& files, const Look& look) {
  std::string text;
  Table table;
  table.columns = {{"file", "", Column::Align::kLeft},
                   {"ok", "", Column::Align::kLeft},
                   {"what", "", Column::Align::kLeft},
                   {"detail", "", Column::Align::kLeft}};
  for (const FileChecks& file : files) {
    if (look.format == Format::kText) text += verify_text(file, look);
    for (const profile::Check& check : file.checks) {
      table.add({text_cell(file.file), flag_cell(check.ok), text_cell(check.what),
                 text_cell(check.detail)});
    }
  }
  switch (look.format) {
    case Format::kCsv:
      return csv_of(table);
    case Format::kJson:
      return fmt::format("{{\"schema\":\"{}\",\"view\":\"verify\",\"rows\":{}}}\n", kJsonSchema,
                         json_of(table));
    case Format::kText:
      break;
  }
  return text;
}

}  // namespace fbleprof::report
