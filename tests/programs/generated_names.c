// generated_names map|late|gdb|dump UNITS: two functions of generated code at one address, one
// after the other. Their names are in the program's perf map, written before each runs (map) or at
// the end (late), in objects that are registered with GDB's interface (gdb: both stay registered,
// at addresses of their own), or in a jitdump in the working directory (dump: the first one with
// its line, the second one loaded elsewhere and moved).
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "generated.h"

// The interface, as GDB's manual describes it.
struct jit_code_entry {
  struct jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  struct jit_code_entry *relevant_entry, *first_entry;
};
__attribute__((used)) struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};
__attribute__((noinline, used)) void __jit_debug_register_code(void) { KEEP; }

// An object for the linker, whose section of code has its address filled in.
struct Object {
  Elf64_Ehdr header;
  Elf64_Shdr sections[4];  // none, code, symbols, names
  Elf64_Sym symbols[2];
  char names[64];
};

static void register_object(const void* code, size_t bytes, const char* name) {
  struct Object* object = calloc(1, sizeof *object);
  struct jit_code_entry* entry = calloc(1, sizeof *entry);
  memcpy(object->header.e_ident, ELFMAG, SELFMAG);
  object->header.e_ident[EI_CLASS] = ELFCLASS64;
  object->header.e_ident[EI_DATA] = ELFDATA2LSB;
  object->header.e_type = ET_REL;
  object->header.e_shoff = offsetof(struct Object, sections);
  object->header.e_shentsize = sizeof(Elf64_Shdr);
  object->header.e_shnum = 4;
  object->sections[1].sh_type = SHT_NOBITS;
  object->sections[1].sh_addr = (Elf64_Addr)code;
  object->sections[1].sh_size = bytes;
  object->sections[2].sh_type = SHT_SYMTAB;
  object->sections[2].sh_offset = offsetof(struct Object, symbols);
  object->sections[2].sh_size = sizeof object->symbols;
  object->sections[2].sh_link = 3;
  object->sections[3].sh_type = SHT_STRTAB;
  object->sections[3].sh_offset = offsetof(struct Object, names);
  object->sections[3].sh_size = sizeof object->names;
  object->symbols[1].st_name = 1;
  object->symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  object->symbols[1].st_shndx = 1;
  object->symbols[1].st_size = bytes;
  strncpy(object->names + 1, name, sizeof object->names - 2);
  entry->symfile_addr = (const char*)object;
  entry->symfile_size = sizeof *object;
  entry->next_entry = __jit_debug_descriptor.first_entry;
  if (entry->next_entry) entry->next_entry->prev_entry = entry;
  __jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = 1;
  __jit_debug_register_code();
}

static void add_to_map(const void* code, size_t bytes, const char* name) {
  char path[64], line[128];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int length = snprintf(line, sizeof line, "%lx %zx %s\n", (unsigned long)code, bytes, name);
  if (fd < 0 || write(fd, line, (size_t)length) != length) exit(1);
  close(fd);
}

// The records of a jitdump, as Linux's jitdump-specification.txt describes them.
struct DumpHead {
  uint32_t kind, bytes;
  uint64_t time;
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_record(FILE* dump, uint32_t kind, const void* fields, size_t bytes,
                         const char* text) {
  const size_t text_bytes = text ? strlen(text) + 1 : 0;
  const struct DumpHead head = {kind, (uint32_t)(sizeof head + bytes + text_bytes), now_ns()};
  fwrite(&head, sizeof head, 1, dump);
  fwrite(fields, bytes, 1, dump);
  if (text) fwrite(text, text_bytes, 1, dump);
  fflush(dump);
}

static void write_load(FILE* dump, const void* code, size_t bytes, const char* name) {
  const uint64_t fields[] = {(uint64_t)getpid(), (uint64_t)code, (uint64_t)code, bytes, 1};
  write_record(dump, 0, fields, sizeof fields, name);
}

static void add_to_dump(const char* code, size_t bytes, int which, const char* name) {
  static FILE* dump;
  if (!dump) {
    char path[64];
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    dump = fopen(path, "w");
    if (!dump) exit(1);
    const uint32_t header[] = {0x4A695444, 1, 40, EM_X86_64, 0, (uint32_t)getpid(), 0, 0, 0, 0};
    fwrite(header, sizeof header, 1, dump);
  }
  if (which == 0) {
    const uint64_t lines[] = {(uint64_t)code, 1, (uint64_t)code, 17};
    write_record(dump, 2, lines, sizeof lines, "first.script");
    write_load(dump, code, bytes, name);
    return;
  }
  write_load(dump, code + 1024, bytes, name);
  const uint64_t move[] = {(uint64_t)getpid(), (uint64_t)code, (uint64_t)(code + 1024),
                           (uint64_t)code,     bytes,          1};
  write_record(dump, 1, move, sizeof move, NULL);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char* how = argv[1];
  const long units = atol(argv[2]);
  // push rbp; mov rbp, rsp; mov rax (then rcx), rdi; mov rdi, rsi; call rax (rcx); pop rbp; ret
  static const unsigned char codes[2][14] = {
      {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3},
      {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, 0x48, 0x89, 0xf7, 0xff, 0xd1, 0x5d, 0xc3}};
  static const char* const names[2] = {"first function", "second function"};
  char* memory =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  for (int i = 0; i < 2; ++i) {
    char* code = memory + (strcmp(how, "gdb") == 0 ? 256 * i : 0);
    memcpy(code, codes[i], sizeof codes[i]);
    if (strcmp(how, "map") == 0) add_to_map(code, sizeof codes[i], names[i]);
    if (strcmp(how, "dump") == 0) add_to_dump(code, sizeof codes[i], i, names[i]);
    if (strcmp(how, "gdb") == 0) register_object(code, sizeof codes[i], names[i]);
    caller((Generated)code, units * (i + 1));
  }
  if (strcmp(how, "late") == 0) add_to_map(memory, sizeof codes[1], names[1]);
  return 0;
}
