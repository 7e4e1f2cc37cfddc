// The bodies of the pages that were written for a browser: one file each, *_page.cc.
#pragma once

#include <string>

#include "report/web/site.h"

namespace fbleprof::web {

std::string overview_body(const Page& page);
std::string flame_body(const Page& page);
std::string tree_body(const Page& page);
std::string block_body(const Page& page);
std::string path_body(const Page& page);
std::string cliques_body(const Page& page);
std::string source_body(const Page& page);
std::string threads_body(const Page& page);
std::string waits_body(const Page& page);
std::string memory_body(const Page& page);
std::string windows_body(const Page& page);
std::string diff_body(const Page& page);
std::string exports_body(const Page& page);
std::string find_body(const Page& page);

// Metrics of waiting, of memory.
bool has_waits(const Page& page);
bool has_memory(const Page& page);

// What a flame graph draws (docs/PAGE.md).
std::string flame_json(const Page& page);
// The same of more contexts: what the lists of a file work on.
std::string contexts_json(const Page& page);
// A canvas and what it draws.
std::string flame_canvas(const Page& page, bool is_small);
std::string find_json(const Page& page);

// A line that says why there is nothing to see.
std::string failure_html(const Error& error);

}  // namespace fbleprof::web
