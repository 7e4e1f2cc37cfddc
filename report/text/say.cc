#include "report/text/say.h"

#include <cstdio>
#include <string>

#include "report/text/escape.h"

namespace fbleprof::report {

void say(std::string_view line) { std::fputs((escape(line) + "\n").c_str(), stderr); }

}  // namespace fbleprof::report
