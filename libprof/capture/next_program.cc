#include "capture/next_program.h"

#include <elf.h>
#include <limits.h>
#include <unistd.h>

#include "arch/machine.h"
#include "capture/kernel_file.h"
#include "capture/text.h"

namespace fbleprof::capture {
namespace {

// Children of vfork may have small stacks: longer paths are not looked at.
using ShortPath = Text<512>;

bool can_run(const char* path) { return kernel_path_call(SYS_access, path, X_OK) == 0; }

// Of anything else, opening may have effects.
bool is_regular(const char* path) {
  struct stat status;
  return kernel_path_call(SYS_stat, path, reinterpret_cast<long>(&status)) == 0 &&
         S_ISREG(status.st_mode);
}

bool begins(const char* text, const char* with) {
  while (*with && *text == *with) ++text, ++with;
  return *with == 0;
}

bool contains(const char* text, const char* part) {
  while (*text && !begins(text, part)) ++text;
  return *text != 0;
}

// "#! /bin/sh -e" names "/bin/sh".
ShortPath interpreter_of(const char* script) {
  ShortPath path;
  script += 2;
  while (*script == ' ' || *script == '\t') ++script;
  while (*script && *script != ' ' && *script != '\t' && *script != '\r' && *script != '\n') {
    path.add(*script++);
  }
  return path;
}

bool needs_musl(const File& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    const std::uint64_t at = header.e_phoff + i * sizeof segment;
    if (file.read(at, &segment, sizeof segment) != sizeof segment) return false;
    if (segment.p_type != PT_INTERP) continue;
    char linker[64];
    const long got = file.read(segment.p_offset, linker, sizeof linker - 1);
    linker[got > 0 ? got : 0] = 0;
    return contains(linker, "/ld-musl-");
  }
  return false;
}

const char* foreign_linker_of_file(const char* path, int scripts_left) {
  if (!is_regular(path)) return nullptr;
  ShortPath interpreter;
  {
    const File file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file) return nullptr;
    constexpr int kShebangBytes = 256;
    union {
      char text[kShebangBytes + 1];
      Elf64_Ehdr header;
    } head;
    const long got = file.read(0, &head, kShebangBytes);
    head.text[got > 0 ? got : 0] = 0;
    if (begins(head.text, ELFMAG) && got >= static_cast<long>(sizeof head.header)) {
      if (head.header.e_ident[EI_CLASS] != ELFCLASS64 ||
          head.header.e_machine != arch::kElfMachine) {
        return "it is a program for another processor, or a 32-bit one";
      }
      return needs_musl(file, head.header) ? "it is linked with musl, not glibc" : nullptr;
    }
    if (!begins(head.text, "#!") || scripts_left == 0) return nullptr;
    interpreter = interpreter_of(head.text);
  }
  return foreign_linker_of_file(interpreter.c_str(), scripts_left - 1);
}

// As libc searches: the first directory that has a file that can be run.
ShortPath find_in_path(const char* name) {
  const char* path = nullptr;
  for (char* const* variable = environ; !path && variable && *variable; ++variable) {
    path = value_of(*variable, "PATH");
  }
  if (!path) path = "/bin:/usr/bin";
  for (;;) {
    ShortPath file;
    while (*path && *path != ':') file.add(*path++);
    if (!file.empty()) file.add('/');
    file.add(name);
    if (!file.was_cut() && is_regular(file.c_str()) && can_run(file.c_str())) return file;
    if (*path++ == 0) return {};
  }
}

bool has_slash(const char* name) {
  while (*name && *name != '/') ++name;
  return *name != 0;
}

}  // namespace

const char* foreign_linker_of(const NextProgram& program) {
  constexpr int kMostScripts = 4;
  if (!program.file) return nullptr;
  // libc reads a name that it searches for; of other bad pointers the kernel tells.
  if (program.search == NextProgram::Search::kInPath && !has_slash(program.file)) {
    return foreign_linker_of_file(find_in_path(program.file).c_str(), kMostScripts);
  }
  return foreign_linker_of_file(program.file, kMostScripts);
}

}  // namespace fbleprof::capture
