#include <fmt/format.h>

#include "profile/verify.h"
#include "report/text/escape.h"
#include "report/text/table.h"
#include "report/views/file_views.h"

namespace fbleprof::report {

std::string verify_view(const profile::FileImage& image, const profile::ReadResult& read,
                        const Look& look, bool& all_hold) {
  std::string text;
  Table table;
  table.columns = {{"ok", "", Column::Align::kLeft},
                   {"what", "", Column::Align::kLeft},
                   {"detail", "", Column::Align::kLeft}};
  std::size_t broken = 0, count = 0;
  for (const profile::Check& check : profile::verify(image, read)) {
    ++count;
    broken += !check.ok;
    text +=
        fmt::format("{}  {}  {}\n",
                    check.ok ? paint(look, Ink::kGood, "ok    ") : paint(look, Ink::kBad, "BROKEN"),
                    escape(check.what), paint(look, Ink::kDim, escape(check.detail)));
    table.add({flag_cell(check.ok), text_cell(check.what), text_cell(check.detail)});
  }
  all_hold = broken == 0;
  switch (look.format) {
    case Format::kCsv:
      return csv_of(table);
    case Format::kJson:
      return fmt::format("{{\"schema\":\"{}\",\"view\":\"verify\",\"rows\":{}}}\n", kJsonSchema,
                         json_of(table));
    case Format::kText:
      break;
  }
  return text + (broken == 0
                     ? fmt::format("{}: all {} invariants hold\n", escape(image.name()), count)
                     : fmt::format("{}: {} of {} invariants are broken\n", escape(image.name()),
                                   broken, count));
}

}  // namespace fbleprof::report
