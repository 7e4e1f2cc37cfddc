// HTML: the profile and a page that shows it in one file, without the network.
//
// Whatever a profiled program called its functions must not run in somebody's browser. The profile
// is a data block in which no '<' is left, the page shows texts as texts, and the policy at its
// head allows the one script and the one style of ours (told by their hashes) and nothing else.
#include <cstdint>

#include "report/exporters/document.h"
#include "report/exporters/exporter.h"
#include "report/exporters/page.h"

namespace fbleprof::report {
namespace {

unsigned hex_digit(char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); }

// Policies want hashes in base 64.
std::string base64_of_hex(std::string_view hex) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0, have = 0;
  for (const char c : hex) {
    bits = bits << 4 | hex_digit(c);
    have += 4;
    if (have < 6) continue;
    have -= 6;
    out += kDigits[bits >> have & 63];
  }
  if (have != 0) out += kDigits[bits << (6 - have) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

// JSON that is safe inside <script>: neither "</script" nor "<!--" can stand in it.
std::string without_tags(const std::string& json) {
  std::string out;
  out.reserve(json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else {
      out += c;
    }
  }
  return out;
}

std::string source(const PagePart& part) { return "'sha256-" + base64_of_hex(part.sha256) + "'"; }

Result<std::string> write_html(const Export& input) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ";
  out += source(kPageScript) + "; style-src " + source(kPageStyle);
  out +=
      "; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Profile</title>\n<style>";
  out += kPageStyle.text;
  out += "</style>\n</head>\n<body>\n";
  out += kPageBody.text;
  out += "<script type=\"application/json\" id=\"profile\">";
  out += without_tags(profile_document(input));
  out += "</script>\n<script>";
  out += kPageScript.text;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

const RegisterExporter kHtml({
    .name = "html",
    .description = "one page with a flame graph and tables; needs no network",
    .wants_lines = true,
    .write = write_html,
});

}  // namespace
}  // namespace fbleprof::report
