// Requests a view's document, as the command line does.
#pragma once

#include <memory>

#include "base/result.h"
#include "report/views/view.h"
#include "report/web/site.h"
#include "symbolize/code.h"

namespace fbleprof::web {

// A document and the objects that it refers to.
struct ViewDocument {
  std::unique_ptr<symbolize::ModuleCode> code;
  std::unique_ptr<report::Request> request;
  report::Document document;
};

Result<ViewDocument> view_document(const Page& page, const report::View& view,
                                   const std::string& value, report::Format format);

}  // namespace fbleprof::web
