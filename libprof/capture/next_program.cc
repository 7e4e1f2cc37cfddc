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

// Of anything else, opening may have effects.
bool is_regular(const char* path) {
  struct stat status;
  return kernel_path_call(SYS_stat, path, reinterpret_cast<long>(&status)) == 0 &&
         S_ISREG(status.st_mode);
}

// "#! /bin/sh -e" names "/bin/sh".
void interpreter_of(const char* script, ShortPath& path) {
  script += 2;
  while (*script == ' ' || *script == '\t') ++script;
  while (*script && *script != ' ' && *script != '\t' && *script != '\r' && *script != '\n') {
    path.add(*script++);
  }
}

// The parts of a program's file that the dynamic linker reads first.
class Program {
 public:
  Program(const File& file, const Elf64_Ehdr& header) : file_(file), header_(header) {
    Elf64_Phdr segment;
    for (unsigned i = 0; read_segment(i, segment); ++i) {
      if (segment.p_type == PT_INTERP) linker_at_ = segment.p_offset;
      if (segment.p_type == PT_DYNAMIC) dynamic_at_ = segment.p_offset;
    }
  }

  bool needs_musl() const {
    Text<64> linker;
    return linker_at_ != 0 && read_string(linker_at_, linker) &&
           contains(linker.c_str(), "/ld-musl-");
  }

  bool begins_with_asan() const {
    if (dynamic_at_ == 0) return false;
    std::uint64_t first = 0, names = 0;
    bool has_first = false;
    Elf64_Dyn entry;
    for (std::uint64_t at = dynamic_at_; read(at, entry) && entry.d_tag != DT_NULL;
         at += sizeof entry) {
      if (entry.d_tag == DT_NEEDED && !has_first) first = entry.d_un.d_val, has_first = true;
      if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
      if (has_first && names != 0) break;
    }
    Text<64> name;
    return has_first && names != 0 && read_string(place_of(names) + first, name) &&
           begins(name.c_str(), "libasan.so");
  }

 private:
  template <typename T>
  bool read(std::uint64_t at, T& to) const {
    return file_.read(at, &to, sizeof to) == static_cast<long>(sizeof to);
  }
  bool read_segment(unsigned i, Elf64_Phdr& segment) const {
    return i < header_.e_phnum && read(header_.e_phoff + i * sizeof segment, segment);
  }
  // A longer one is cut.
  bool read_string(std::uint64_t at, Text<64>& to) const {
    char bytes[64];
    const long got = file_.read(at, bytes, sizeof bytes - 1);
    if (got <= 0) return false;
    bytes[got] = 0;
    to.add(bytes);
    return true;
  }
  // Where the byte of this address is in the file.
  std::uint64_t place_of(std::uint64_t address) const {
    Elf64_Phdr segment;
    for (unsigned i = 0; read_segment(i, segment); ++i) {
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_filesz) {
        return address - segment.p_vaddr + segment.p_offset;
      }
    }
    return ~std::uint64_t{0} >> 1;  // behind the end of any file
  }

  const File& file_;
  const Elf64_Ehdr& header_;
  std::uint64_t linker_at_ = 0, dynamic_at_ = 0;
};

// Of a script, `interpreter` is what runs it; otherwise it is empty.
ForPreloading look_at_file(const char* path, ShortPath& interpreter) {
  interpreter.clear();
  if (!is_regular(path)) return {};
  const File file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return {};
  constexpr int kShebangBytes = 256;
  union {
    char text[kShebangBytes + 1];
    Elf64_Ehdr header;
  } head;
  const long got = file.read(0, &head, kShebangBytes);
  head.text[got > 0 ? got : 0] = 0;
  if (begins(head.text, ELFMAG) && got >= static_cast<long>(sizeof head.header)) {
    if (head.header.e_ident[EI_CLASS] != ELFCLASS64 || head.header.e_machine != arch::kElfMachine) {
      return {"it is a program for another processor, or a 32-bit one"};
    }
    const Program program(file, head.header);
    if (program.needs_musl()) return {"it is linked with musl, not glibc"};
    return {nullptr, program.begins_with_asan()};
  }
  if (begins(head.text, "#!")) interpreter_of(head.text, interpreter);
  return {};
}

ForPreloading look_at_path(const char* path) {
  constexpr int kMostScripts = 4;
  ShortPath script, interpreter;
  ForPreloading found = look_at_file(path, interpreter);
  for (int i = 0; i < kMostScripts && !interpreter.empty(); ++i) {
    script = interpreter;
    found = look_at_file(script.c_str(), interpreter);
  }
  return found;
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
    if (!file.was_cut() && is_regular(file.c_str()) && can_access(file.c_str(), X_OK)) return file;
    if (*path++ == 0) return {};
  }
}

bool has_slash(const char* name) {
  while (*name && *name != '/') ++name;
  return *name != 0;
}

}  // namespace

ForPreloading look_at(const NextProgram& program) {
  if (!program.file) return {};
  // libc reads a name that it searches for; of other bad pointers the kernel tells.
  if (program.search == NextProgram::Search::kInPath && !has_slash(program.file)) {
    return look_at_path(find_in_path(program.file).c_str());
  }
  return look_at_path(program.file);
}

}  // namespace fbleprof::capture
