#include "symbolize/demangle.h"

#include <csetjmp>
#include <cstring>

#define HAVE_DECL_BASENAME 1  // libiberty.h would declare its own
#include <libiberty/demangle.h>

namespace fbleprof::symbolize {
namespace {

constexpr std::string_view kCloneWords[] = {
    "cold",  "part",      "isra",     "constprop", "lto_priv", "llvm",     "localalias",
    "clone", "localpart", "unlikely", "warm",      "hot",      "resolver", "str",
    "uniq",  "__uniq",    "default",  "arch",      "avx2",     "sve"};

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_clone_word(std::string_view token) {
  for (std::string_view word : kCloneWords) {
    if (token == word) return true;
  }
  // gcc's target_clones and target attributes: "arch_haswell", "sse4_2", "avx512f".
  return token.starts_with("arch_") || token.starts_with("avx") || token.starts_with("sse4");
}

// Whether everything from the dot at `dot` on is words of clones and numbers, beginning with a
// word.
bool is_clone_suffix(std::string_view name, std::size_t dot) {
  bool first = true;
  while (dot < name.size()) {
    const std::size_t end = std::min(name.find('.', dot + 1), name.size());
    const std::string_view token = name.substr(dot + 1, end - dot - 1);
    if (!is_clone_word(token) && (first || !is_digits(token))) return false;
    first = false;
    dot = end;
  }
  return true;
}

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

// A mangled name with a demangler to try, or nullptr.
Demangler demangler_for(std::string_view name) {
  if (name.starts_with("_R")) return rust_demangle_callback;
  if (name.starts_with("_Z") || name.starts_with("___Z") || name.starts_with("_GLOBAL_")) {
    return cplus_demangle_v3_callback;
  }
  return nullptr;
}

}  // namespace

SplitName split_clone_suffix(std::string_view name) {
  // A leading dot is part of the name. In a C++ name any dot begins a suffix, as its mangling has
  // no dots; in other languages (Go, assembler) only the words that compilers are known to use do.
  if (name.empty()) return {name, {}};
  for (std::size_t dot = name.find('.', 1); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    if (name.starts_with("_Z") || is_clone_suffix(name, dot)) {
      return {name.substr(0, dot), name.substr(dot)};
    }
  }
  return {name, {}};
}

std::string demangle(std::string_view linkage_name) {
  const std::string_view base = split_clone_suffix(linkage_name).base;
  const Demangler demangler = demangler_for(base);
  if (demangler == nullptr || base.size() > kMaxMangledBytes) {
    return without_control_characters(base);
  }
  const std::string mangled(base);
  if (mangled.find('\0') != std::string::npos) return without_control_characters(base);
  thread_local char buffer[kMaxDemangledBytes];
  Output output{.bytes = buffer};
  // Rust's legacy mangling is valid C++ mangling; Rust's own demangler recognizes it by its hash.
  if (base.starts_with("_ZN") && run(rust_demangle_callback, mangled.c_str(), &output)) {
    return without_control_characters({buffer, output.size});
  }
  output.size = 0;
  if (!run(demangler, mangled.c_str(), &output) || output.size == 0) {
    return without_control_characters(base);
  }
  return without_control_characters({buffer, output.size});
}

}  // namespace fbleprof::symbolize
