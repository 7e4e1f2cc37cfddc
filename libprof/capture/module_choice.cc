#include "capture/module_choice.h"

#include "capture/glob.h"
#include "capture/text.h"

namespace fbleprof::capture {

namespace {

// What follows the word at the name's beginning; null: it begins otherwise.
const char* rest_behind(const char* name, const char* word, const char* word_end) {
  while (word != word_end && *name == *word) ++name, ++word;
  return word == word_end ? name : nullptr;
}

// Whether `name` is the word, or begins with it and continues with a point or a dash ("libc.so.6",
// "libc-2.31.so").
bool is_named(const char* name, const char* word, const char* word_end) {
  const char* rest = rest_behind(name, word, word_end);
  return rest && (*rest == 0 || *rest == '.' || *rest == '-');
}

// The same, but only if a version or nothing stands before ".so": not for "libc-client.so", nor for
// a program "libc-test".
bool is_library(const char* name, const char* word, const char* word_end) {
  const char* rest = rest_behind(name, word, word_end);
  if (!rest) return false;
  if (*rest == '-') {
    do ++rest;
    while (*rest == '.' || (*rest >= '0' && *rest <= '9'));
    --rest;  // the point before "so"
  }
  return begins(rest, ".so") && (rest[3] == 0 || rest[3] == '.');
}

bool is_any_of(const char* name, const char* words,
               bool (*is_the_one)(const char*, const char*, const char*) = is_named) {
  bool found = false;
  for_each_word(words,
                [&](const char* word, const char* end) { found |= is_the_one(name, word, end); });
  return found;
}

// The recorder and the libraries that it calls: in a forked child, or while a thread is attached,
// their hooks would call the recorder in the middle of its work. Also libraries that handle code in
// their own way.
constexpr const char* kNever =
    "libfbleprof,libfbleprof_alloc,libfbleprof_wait,libfbleprof_lua,libfbleprof_python,"
    "libc,libpthread,libdl,librt,ld-linux-x86-64,linux-vdso,libasan,libtsan,libubsan,"
    "liblsan";
// "libclang_rt.asan-x86_64.so"
constexpr const char* kBeginningOfNever = "libclang_rt.";
// Other parts of libc, the unwinder, and libraries of hand-written assembly.
constexpr const char* kNotByDefault =
    "libm,libresolv,libgcc_s,libmvec,libthread_db,libanl,libutil,"
    "libnss_files,libnss_dns,libcrypto,libssl,libgmp,libgcrypt,libnettle,libhogweed";

}  // namespace

bool may_be_changed(const format::Module& module, const char* path) {
  const char* name = name_in_path(path);
  return (module.flags & format::kModuleIsVdso) == 0 && *name != 0 &&
         !is_any_of(name, kNever, is_library) && !begins(name, kBeginningOfNever);
}

bool is_named_by(const char* word, const char* end, const format::Module& module,
                 const char* path) {
  const bool is_program = (module.flags & format::kModuleIsMain) != 0;
  return is_named(name_in_path(path), word, end) || (is_program && is_named("program", word, end));
}

bool is_chosen(const ModuleChoice& choice, const format::Module& module, const char* path) {
  if (!may_be_changed(module, path)) return false;
  if (equal(choice.modules, kAllModules)) return true;
  if (equal(choice.modules, kProgramAndLibraries)) {
    const char* name = name_in_path(path);
    const bool is_program = (module.flags & format::kModuleIsMain) != 0;
    return !is_any_of(name, choice.except) && (is_program || !is_any_of(name, kNotByDefault));
  }
  bool found = false;
  for_each_word(choice.modules, [&](const char* word, const char* end) {
    found |= is_named_by(word, end, module, path);
  });
  return found;
}

}  // namespace fbleprof::capture
