// The whole profile as one JSON document, for programs and for the page of --export html.
//
// docs/EXPORTS.md describes it. Tables are objects of columns of equal length: a tenth of the size
// of arrays of objects, and quick to load. A change that would break a reader needs a new
// kDocumentVersion; new members do not.
#pragma once

#include <string>

#include "report/exporters/exporter.h"

namespace fbleprof::report {

inline constexpr unsigned kDocumentVersion = 1;

std::string profile_document(const Export& input);

}  // namespace fbleprof::report
