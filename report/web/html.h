// Safe HTML: text() escapes, raw() takes literals and HTML made here.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::web {

// For text and for attributes in double quotes. Control and bidirectional characters are already
// escaped (report/text/escape.h).
std::string html_text(std::string_view text);

// JSON that is safe inside <script>: it never contains "</script" or "<!--".
std::string json_for_script(std::string_view json);

// A bar that fills `percent` of its width. Uses attributes, since the policy forbids inline styles.
std::string bar(double percent, std::string_view kind = "");

}  // namespace fbleprof::web
