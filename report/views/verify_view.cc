// --verify: every invariant of each file, a line or row each.
#include <fmt/format.h>

#include "report/text/escape.h"
#include "report/views/view.h"

namespace fbleprof::report {

using Kind = Column::Kind;

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

Result<Document> verify(const Request& request) {
  Document document("verify", request.names());
  Table& table = document.tables.emplace_back();
  table.key = "rows";
  table.columns = {{"file", "", Kind::kText},
                   {"ok", "", Kind::kFlag},
                   {"what", "", Kind::kText},
                   {"detail", "", Kind::kText}};
  for (const FileChecks& file : request.files) {
    for (const profile::Check& check : file.checks) {
      table.add({text_cell(file.file), flag_cell(check.ok), text_cell(check.what),
                 text_cell(check.detail)});
    }
  }
  document.text = [files = request.files](const Look& look) {
    std::string text;
    for (const FileChecks& file : files) text += verify_text(file, look);
    return text;
  };
  return document;
}

const Register kVerify({
    .name = "verify",
    .help = "check every invariant of the file, one line each; status 1 if one is broken",
    .manual = "Checks every invariant of the file, one line each.",
    .topic = View::Topic::kRuns,
    .subject = View::Subject::kFiles,
    .show = verify,
});

}  // namespace
}  // namespace fbleprof::report
