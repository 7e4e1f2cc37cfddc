#include "report/exporters/document.h"

namespace fbleprof::report {

namespace {

Result<std::string> write_json(const Export& input) { return profile_document(input) + "\n"; }

const RegisterExporter kJson({
    .name = "json",
    .description = "everything, in a documented form",
    .wants_lines = true,
    .write = write_json,
});

}  // namespace
}  // namespace fbleprof::report
