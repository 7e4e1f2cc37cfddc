// Safe HTML: text() escapes, raw() takes literals and HTML made here.
#pragma once

#include <string>
#include <string_view>

namespace fbleprof::web {

// For text and for attributes in double quotes. Control and bidirectional characters are already
// escaped (report/text/escape.h).
std::string html_text(std::string_view text);

// A function's name: breaks between its scopes where a line is too short for it, and not within the
// sign for what was left out of it.
std::string html_name(std::string_view name);

// JSON that is safe inside <script>: it never contains "</script" or "<!--".
std::string json_for_script(std::string_view json);

// A bar that fills `percent` of its width. Uses attributes, since the policy forbids inline styles.
std::string bar(double percent, std::string_view kind = "");

}  // namespace fbleprof::web
