#include "symbolize/demangle.h"

#include <csetjmp>
#include <cstring>
#include <optional>

#define HAVE_DECL_BASENAME 1  // libiberty.h would declare its own
#include <libiberty/demangle.h>

#include "names/linkage.h"

namespace fbleprof::symbolize {
namespace {

// The demangler's output. When it is full, `enough` jumps out of the demangler, whose frames are C
// code that keeps everything on the stack, so nothing leaks.
struct Output {
  char* bytes;
  std::size_t size = 0;
  std::jmp_buf enough;
};

void append(const char* text, std::size_t length, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (length > kMaxDemangledBytes - output->size) std::longjmp(output->enough, 1);
  std::memcpy(output->bytes + output->size, text, length);
  output->size += length;
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// Has no objects with destructors, because longjmp returns here.
bool run(Demangler demangler, const char* mangled, Output* output) {
  if (setjmp(output->enough) != 0) return false;
  return demangler(mangled, DMGL_PARAMS | DMGL_ANSI, append, output) != 0;
}

std::string without_control_characters(std::string_view name) {
  std::string clean(name);
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return clean;
}

bool is_mangled(std::string_view name) {
  return name.starts_with("_R") || name.starts_with("_Z") || name.starts_with("___Z") ||
         name.starts_with("_GLOBAL_");
}

// What a mangled name of at most kMaxMangledBytes stands for, if it is one.
std::optional<std::string> read(std::string_view name) {
  const std::string mangled(name);
  thread_local char buffer[kMaxDemangledBytes];
  // Rust's legacy mangling is valid C++ mangling; Rust's own demangler recognizes it by its hash.
  const bool may_be_rust = name.starts_with("_ZN") || name.starts_with("_R");
  for (const bool is_rust : {true, false}) {
    if (is_rust ? !may_be_rust : name.starts_with("_R")) continue;
    Output output{.bytes = buffer};
    const Demangler demangler = is_rust ? rust_demangle_callback : cplus_demangle_v3_callback;
    if (run(demangler, mangled.c_str(), &output) && output.size != 0) {
      return std::string(buffer, output.size);
    }
  }
  return std::nullopt;
}

// Where Rust's legacy mangling ends, with its hash: "..17h0123456789abcdefE". Its names may hold
// many dots, and its demangler ignores what is behind the end.
std::size_t end_of_rust(std::string_view name) {
  constexpr std::string_view kHash = "17h";
  if (!name.starts_with("_ZN")) return std::string_view::npos;
  for (std::size_t at = name.find(kHash); at != std::string_view::npos;
       at = name.find(kHash, at + 1)) {
    const std::size_t digits = at + kHash.size(), end = digits + 16;
    if (end >= name.size()) break;
    const bool ends = name[end] == 'E' && (end + 1 == name.size() || name[end + 1] == '.');
    const bool is_hash =
        name.substr(digits, 16).find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (ends && is_hash) return end + 1;
  }
  return std::string_view::npos;
}

// gcc makes of a coroutine f the functions "f(frame*).actor" and "f(frame*).destroy", where `frame`
// is a type in f whose name is that of f: "_Z1fPZ1fvE11_Z1fv.Frame" is f(f()::_Z1fv.Frame*). Such a
// name's f, "_Z1fv".
std::string_view coroutine_of(std::string_view name, std::string_view readable) {
  constexpr std::string_view kFrame = ".Frame";
  if (!name.ends_with(kFrame)) return {};
  for (std::size_t at = name.find("_Z", 1); at != std::string_view::npos;
       at = name.find("_Z", at + 1)) {
    const std::string_view frame = name.substr(at);
    if (!name.substr(0, at).ends_with(std::to_string(frame.size()))) continue;
    const bool is_parameter = readable.ends_with("::" + std::string(frame) + "*)");
    if (is_parameter) return frame.substr(0, frame.size() - kFrame.size());
  }
  return {};
}

// "_Z1fv.resume" as "f() [resume]". Mangled names end at a dot; only few of them hold dots before.
std::optional<std::string> read_with_words(std::string_view name) {
  constexpr int kMostDots = 8;  // each costs a run of the demangler
  std::size_t end = end_of_rust(name);
  if (end == std::string_view::npos) end = name.find('.');
  for (int dots = 0; dots < kMostDots; ++dots) {
    const std::string_view mangled = name.substr(0, end), words = name.substr(mangled.size());
    std::optional<std::string> readable = read(mangled);
    if (!readable && words.empty()) return std::nullopt;
    if (!readable) {
      end = name.find('.', end + 1);
      continue;
    }
    if (words.empty()) return readable;
    if (words == ".actor" || words == ".destroy") {
      const std::string_view coroutine = coroutine_of(mangled, *readable);
      if (auto whole = coroutine.empty() ? std::nullopt : read(coroutine)) readable = whole;
    }
    return *readable + " [" + std::string(words.substr(1)) + "]";
  }
  return std::nullopt;
}

}  // namespace

std::string demangle(std::string_view linkage_name) {
  const std::string_view name = names::split_linkage_name(linkage_name).function;
  if (is_mangled(name) && name.size() <= kMaxMangledBytes &&
      name.find('\0') == std::string_view::npos) {
    if (auto readable = read_with_words(name)) return without_control_characters(*readable);
  }
  return without_control_characters(name);
}

}  // namespace fbleprof::symbolize
