// HTML, safe by how it is written: text() escapes, raw() takes literals and what was made here.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::web {

// For text and for attributes in double quotes. Control and bidirectional characters were escaped
// before (report/text/escape.h).
std::string html_text(std::string_view text);

// JSON that is safe inside <script>: neither "</script" nor "<!--" can stand in it.
std::string json_for_script(std::string_view json);

// A bar that fills `percent` of its width. Attributes, no styles: the policy allows none inline.
std::string bar(double percent, std::string_view kind = "");

}  // namespace fbleprof::web
