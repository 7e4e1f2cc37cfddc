#include "report/exporters/document.h"

namespace fbleprof::report {

Result<std::string> write_json(const Export& input) { return profile_document(input) + "\n"; }

}  // namespace fbleprof::report
