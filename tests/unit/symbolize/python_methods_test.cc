// The names of Python's C functions, from tables as CPython's headers define them.
#include "symbolize/python_methods.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "tests/unit/symbolize/build_sample.h"

namespace fbleprof::symbolize {
namespace {

constexpr const char* kSource = R"c(
#define FUNCTION(name) static __attribute__((noipa)) void* name(void* a) { return (char*)a + __LINE__; }
struct Method { const char* name; void* code; int flags; const char* text; };
struct Getset { const char* name; void *get, *set; const char* text; void* closure; };
struct Type { long count; const void* type; long size; const char* name; const void* slots[47]; };
struct Module { long head[5]; const char* name; const char* text; long bytes; const struct Method* methods; };
struct Slot { int slot; void* code; };
struct Spec { const char* name; int bytes, item; unsigned flags; const struct Slot* slots; };
extern long PyType_Type;
FUNCTION(join)
FUNCTION(length)
FUNCTION(shared)
FUNCTION(color)
FUNCTION(add)
FUNCTION(open_file)
FUNCTION(spec_read)
FUNCTION(not_in_a_table)
static struct Method methods[] = {{"join", join, 8, "join(x)"
}
, { 0, 0, 0, 0 }
};
static struct Getset attributes[] = {{"color", color, 0, 0, 0}, {0, 0, 0, 0, 0}};
static void* number[36] = {add};
static struct Method functions[] = {{"open_file", open_file, 1, 0}, {0, 0, 0, 0}};
static struct Method spec_methods[] = {{"read", spec_read, 1, 0}, {0, 0, 0, 0}};
static struct Slot slots[] = {{64, spec_methods}, {0, 0}};
struct Type one = {
    1, &PyType_Type, 0, "sample.text", {(void*)40, 0,      shared, 0, 0,       0, 0,
                                        length,    number, 0,      0, 0,       0, 0,
                                        0,         0,      0,      0, "text",  0, 0,
                                        0,         0,      0,      0, methods, 0, attributes}};
struct Type two = {1, &PyType_Type, 0, "sample.list", {(void*)40, 0, shared}};
struct Module module = {{1, 0, 0, 0, 0}, "sample", "text", -1, functions};
struct Spec spec = {"sample.File", 40, 0, 1, slots};
struct Type no_type = {1, &PyType_Type, 0, "no type", {(void*)40, 0, not_in_a_table}};
)c";

std::map<std::string, int> names_in(const std::string& file) {
  OpenError error;
  const auto object = ElfObject::open(file, &error);
  std::deque<std::string> names;
  std::map<std::string, int> found;
  if (!object) return found;
  for (const RawSymbol& symbol : read_python_methods(*object, &names)) {
    EXPECT_LT(symbol.begin, symbol.limit);
    ++found[std::string(symbol.name)];
  }
  return found;
}

TEST(PythonMethods, TablesNameTheFunctionsOfAStrippedModule) {
  const Workshop workshop;
  const std::string file = workshop.path("module.so");
  workshop.write("module.c", kSource);
  for (const char* how : {"", "-Wl,-z,norelro"}) {
    ASSERT_TRUE(workshop.run(std::string("gcc -O2 -shared -fPIC ") + how +
                             " module.c -o module.so && strip module.so"));
    const std::map<std::string, int> expected = {
        {"sample.text.join", 1},  {"sample.text.tp_repr", 1}, {"tp_dealloc of 2 types", 2},
        {"sample.text.color", 1}, {"sample.text.nb_add", 1},  {"sample.open_file", 1},
        {"sample.File.read", 1}};
    EXPECT_EQ(names_in(file), expected) << how;
  }
}

TEST(PythonMethods, FilesThatDoNotReferToPythonHaveNone) {
  const Workshop workshop;
  workshop.write("module.c", kSource);
  ASSERT_TRUE(
      workshop.run("sed 's/PyType_Type/other_type/' module.c >other.c && "
                   "gcc -O2 -shared -fPIC other.c -o other.so && strip other.so"));
  EXPECT_TRUE(names_in(workshop.path("other.so")).empty());
}

}  // namespace
}  // namespace fbleprof::symbolize
