#include "attach/loaded_file.h"

#include <elf.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace fbleprof::attach {

namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A struct at an offset of the file; zeros if the file is too short.
template <typename Struct>
Struct at(const std::string& bytes, std::uint64_t offset) {
  Struct result{};
  if (offset <= bytes.size() && sizeof result <= bytes.size() - offset) {
    std::memcpy(&result, bytes.data() + offset, sizeof result);
  }
  return result;
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The address in the file of a symbol that the file defines; 0 if it does not.
std::uint64_t value_of(const std::string& file, const std::string& name) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto strings =
        at<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (std::uint64_t s = 0; s + sizeof(Elf64_Sym) <= section.sh_size; s += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, section.sh_offset + s);
      const std::uint64_t text = strings.sh_offset + symbol.st_name;
      if (symbol.st_shndx == SHN_UNDEF || text + name.size() >= file.size()) continue;
      if (file.compare(text, name.size(), name) == 0 && file[text + name.size()] == 0) {
        return symbol.st_value;
      }
    }
  }
  return 0;
}

// The memory address of the file's address 0: that of its first segment, which begins at offset 0.
std::uint64_t bias_of(const std::vector<Mapping>& mappings, const std::string& path,
                      const std::string& file) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  std::uint64_t first = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) first = segment.p_vaddr;
  }
  for (const Mapping& each : mappings) {
    if (each.path == path && each.offset == 0) return each.begin - first;
  }
  return 0;
}

}  // namespace

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> mappings;
  std::ifstream in("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(in, line);) {
    Mapping mapping;
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[8] = "";
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %*s %*s %n", &begin, &end, rights, &offset,
                    &path_at) < 4) {
      continue;
    }
    mapping.begin = begin;
    mapping.end = end;
    mapping.offset = offset;
    mapping.is_code = std::strchr(rights, 'x') != nullptr;
    mapping.path = line.substr(static_cast<std::size_t>(path_at));
    mappings.push_back(mapping);
  }
  return mappings;
}

std::string path_from_outside(pid_t pid, const std::string& path) {
  return "/proc/" + std::to_string(pid) + "/root" + path;
}

const Mapping* find_file(const std::vector<Mapping>& mappings, const std::string& name) {
  for (const Mapping& each : mappings) {
    if (each.path.starts_with('/') && name_in(each.path).starts_with(name)) return &each;
  }
  return nullptr;
}

std::uint64_t find_function(const std::vector<Mapping>& mappings, const std::string& path,
                            const std::string& copy, const std::string& function) {
  const std::string file = read_file(copy);
  const std::uint64_t value = value_of(file, function);
  return value == 0 ? 0 : bias_of(mappings, path, file) + value;
}

std::uint64_t find_code(pid_t pid, const std::vector<Mapping>& mappings, const std::string& path,
                        const std::string& bytes) {
  const std::string file = read_file(path_from_outside(pid, path));
  for (const Mapping& each : mappings) {
    if (each.path != path || !each.is_code) continue;
    const std::size_t found = file.find(bytes, each.offset);
    if (found != std::string::npos && found + bytes.size() - each.offset <= each.end - each.begin) {
      return each.begin + (found - each.offset);
    }
  }
  return 0;
}

}  // namespace fbleprof::attach
