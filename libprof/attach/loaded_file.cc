#include "attach/loaded_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "attach/memory.h"

namespace fbleprof::attach {

namespace {

std::string_view map_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat status {};
  std::string_view bytes;
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) bytes = {static_cast<const char*>(at), size};
  }
  close(fd);
  return bytes;
}

// The file's bytes; empty if it cannot be read. It stays mapped: the same few files are searched
// again. Another file can be found by a path later.
std::string_view bytes_of(const std::string& path) {
  static std::map<std::pair<dev_t, ino_t>, std::string_view> files;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return {};
  const std::pair file(status.st_dev, status.st_ino);
  const auto known = files.find(file);
  return known != files.end() ? known->second : files.emplace(file, map_file(path)).first->second;
}

// A struct at an offset of the file; zeros if the file is too short.
template <typename Struct>
Struct at(std::string_view bytes, std::uint64_t offset) {
  Struct result{};
  if (offset <= bytes.size() && sizeof result <= bytes.size() - offset) {
    std::memcpy(&result, bytes.data() + offset, sizeof result);
  }
  return result;
}

// The address in the file of a symbol that the file defines; 0 if it does not.
std::uint64_t value_of(std::string_view file, const std::string& name) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_DYNSYM) continue;
    const auto strings =
        at<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    const std::uint64_t bytes = std::min<std::uint64_t>(section.sh_size, file.size());
    for (std::uint64_t s = 0; s + sizeof(Elf64_Sym) <= bytes; s += sizeof(Elf64_Sym)) {
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
                      std::string_view file) {
  const auto header = at<Elf64_Ehdr>(file, 0);
  std::uint64_t first = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(file, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) first = segment.p_vaddr;
  }
  for (const Mapping& each : mappings) {
    if (each.path != path || !each.is_code) continue;
    const Mapping* object = object_with(mappings, each);
    return object ? object->begin - first : 0;
  }
  return 0;
}

}  // namespace

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<Mapping> mappings_of(pid_t pid) {
  std::vector<Mapping> mappings;
  // The kernel gives paths as we see them: below the process's root, if that is a folder of ours.
  std::error_code failure;
  const std::string root =
      std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/root", failure).string();
  std::ifstream in("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(in, line);) {
    Mapping mapping;
    unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
    char rights[8] = "";
    int path_at = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %7s %llx %*s %llu %n", &begin, &end, rights, &offset,
                    &inode, &path_at) < 5) {
      continue;
    }
    mapping.begin = begin;
    mapping.end = end;
    mapping.offset = offset;
    mapping.inode = inode;
    mapping.is_code = std::strchr(rights, 'x') != nullptr;
    mapping.path = line.substr(static_cast<std::size_t>(path_at));
    if (root.size() > 1 && mapping.path.starts_with(root + '/')) mapping.path.erase(0, root.size());
    mappings.push_back(mapping);
  }
  return mappings;
}

std::string path_from_outside(pid_t pid, const std::string& path) {
  return "/proc/" + std::to_string(pid) + "/root" + path;
}

std::string mapped_file_from_outside(pid_t pid, const Mapping& mapping) {
  // Needs rights that root has.
  char name[64];
  std::snprintf(name, sizeof name, "/map_files/%llx-%llx",
                static_cast<unsigned long long>(mapping.begin),
                static_cast<unsigned long long>(mapping.end));
  const std::string mapped = "/proc/" + std::to_string(pid) + name;
  if (access(mapped.c_str(), R_OK) == 0) return mapped;
  // The second one is the program, even if it was deleted.
  for (const std::string& path :
       {path_from_outside(pid, mapping.path), "/proc/" + std::to_string(pid) + "/exe"}) {
    struct stat file {};
    if (stat(path.c_str(), &file) == 0 && file.st_ino == mapping.inode) return path;
  }
  return {};
}

bool sees_file(pid_t pid, const std::string& path) {
  struct stat here {
  }, there{};
  return stat(path.c_str(), &here) == 0 &&
         stat(path_from_outside(pid, path).c_str(), &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

const Mapping* mapping_from(const std::vector<Mapping>& mappings, std::uint64_t begin) {
  const auto found = std::find_if(mappings.begin(), mappings.end(),
                                  [begin](const Mapping& each) { return each.begin == begin; });
  return found == mappings.end() ? nullptr : &*found;
}

const Mapping* mapping_at(const std::vector<Mapping>& mappings, std::uint64_t address) {
  const auto found = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& each) {
    return address >= each.begin && address < each.end;
  });
  return found == mappings.end() ? nullptr : &*found;
}

const Mapping* object_with(const std::vector<Mapping>& mappings, const Mapping& code) {
  const Mapping* first = nullptr;
  for (const Mapping& each : mappings) {
    if (each.begin > code.begin) break;
    if (each.path == code.path && each.offset == 0) first = &each;
  }
  return first;
}

const Mapping* find_file(const std::vector<Mapping>& mappings, const std::string& name) {
  for (const Mapping& each : mappings) {
    if (each.path.starts_with('/') && name_in(each.path).starts_with(name)) return &each;
  }
  return nullptr;
}

std::uint64_t find_function(const std::vector<Mapping>& mappings, const std::string& path,
                            const std::string& copy, const std::string& function) {
  const std::string_view file = bytes_of(copy);
  const std::uint64_t value = value_of(file, function);
  return value == 0 ? 0 : bias_of(mappings, path, file) + value;
}

bool may_export(pid_t pid, std::uint64_t object, const std::string& function) {
  const auto read = [pid](std::uint64_t from, auto* to) {
    return read_memory(pid, from, to, sizeof *to);
  };
  Elf64_Ehdr header{};
  if (!read(object, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return false;
  std::uint64_t bias = object, dynamic = 0, table = 0, symbols = 0, strings = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    if (!read(object + header.e_phoff + i * sizeof segment, &segment)) return true;
    if (segment.p_type == PT_LOAD && segment.p_offset == 0) bias = object - segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
  }
  constexpr int kMostEntries = 512;
  Elf64_Dyn entry{};
  for (int i = 0; i < kMostEntries; ++i) {
    if (!read(bias + dynamic + static_cast<unsigned>(i) * sizeof entry, &entry)) return true;
    if (entry.d_tag == DT_NULL) break;
    // The loader has relocated these.
    if (entry.d_tag == DT_GNU_HASH) table = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) symbols = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
  }
  struct {
    std::uint32_t buckets, first, bloom_words, bloom_shift;
  } hash_table{};
  if (table == 0 || !read(table, &hash_table) || hash_table.buckets == 0) return true;
  std::uint32_t hash = 5381;
  for (const char c : function) hash = hash * 33 + static_cast<unsigned char>(c);
  const std::uint64_t buckets =
      table + sizeof hash_table + hash_table.bloom_words * sizeof(std::uint64_t);
  const std::uint64_t chain = buckets + hash_table.buckets * sizeof hash;
  std::uint32_t index = 0, found = 0;
  if (!read(buckets + hash % hash_table.buckets * sizeof index, &index)) return true;
  if (index < hash_table.first) return false;
  // The lowest bit marks the end of a bucket.
  for (; (found & 1) == 0; ++index) {
    if (!read(chain + (index - hash_table.first) * sizeof found, &found)) return true;
    if ((found | 1) != (hash | 1)) continue;
    Elf64_Sym symbol{};
    std::string name(function.size() + 1, '\1');
    if (!read(symbols + index * sizeof symbol, &symbol) ||
        !read_memory(pid, strings + symbol.st_name, name.data(), name.size())) {
      return true;
    }
    if (name == function + '\0') return true;
  }
  return false;
}

std::uint64_t find_code(pid_t pid, const std::vector<Mapping>& mappings, const std::string& path,
                        const std::string& bytes) {
  for (const Mapping& each : mappings) {
    if (each.path != path || !each.is_code) continue;
    const std::string_view file = bytes_of(mapped_file_from_outside(pid, each));
    const std::size_t found = file.find(bytes, each.offset);
    if (found != std::string_view::npos &&
        found + bytes.size() - each.offset <= each.end - each.begin) {
      return each.begin + (found - each.offset);
    }
  }
  return 0;
}

}  // namespace fbleprof::attach
