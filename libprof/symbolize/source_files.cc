#include "symbolize/source_files.h"

#include <dwarf.h>

#include <string_view>

namespace fbleprof::symbolize {

std::string file_name(Dwarf_Die* unit, const char* file) {
  if (file == nullptr || *file == '\0') return {};
  if (*file == '/') return file;
  Dwarf_Attribute attribute;
  const char* directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  if (directory == nullptr || *directory == '\0') return file;
  std::string_view relative = file;
  while (relative.starts_with("./")) relative.remove_prefix(2);
  return std::string(directory) + "/" + std::string(relative);
}

std::string file_by_number(Dwarf_Die* unit, Dwarf_Attribute* attribute) {
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  Dwarf_Word number = 0;
  if (dwarf_formudata(attribute, &number) != 0) return {};
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || number >= count) return {};
  return file_name(unit, dwarf_filesrc(files, number, nullptr, nullptr));
}

}  // namespace fbleprof::symbolize
