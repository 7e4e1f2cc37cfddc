#include "symbolize/die_names.h"

#include <dwarf.h>

#include "symbolize/demangle.h"
#include "symbolize/source_files.h"

namespace fbleprof::symbolize {
namespace {

// The entry that `attribute` of `die` refers to; false: there is none.
bool follow(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Die target;
  if (dwarf_attr(die, attribute, &found) == nullptr ||
      dwarf_formref_die(&found, &target) == nullptr) {
    return false;
  }
  *die = target;
  return true;
}

bool is_cxx(Dwarf_Die* unit) {
  switch (dwarf_srclang(unit)) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
      return true;
    default:
      return false;
  }
}

std::string scope_name(Dwarf_Die* scope) {
  if (const char* name = dwarf_diename(scope)) return name;
  return dwarf_tag(scope) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
}

void set_declaration(Dwarf_Die* function, SourceFrame* frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_formudata(dwarf_attr_integrate(function, DW_AT_decl_line, &attribute), &line) != 0 ||
      line > UINT32_MAX) {
    return;
  }
  if (dwarf_attr_integrate(function, DW_AT_decl_file, &attribute) == nullptr) return;
  Dwarf_Die unit;  // the number counts in the table of the unit that the attribute stands in
  if (dwarf_cu_die(attribute.cu, &unit, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
      nullptr) {
    return;
  }
  frame->declared_file = file_by_number(&unit, &attribute);
  frame->declared_line = static_cast<std::uint32_t>(line);
}

}  // namespace

bool is_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
         tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

const SourceFrame& DieNames::of(Dwarf_Die* die) {
  constexpr int kMaxHops = 4;
  Dwarf_Die origin = *die;
  for (int hop = 0; hop < kMaxHops && follow(&origin, DW_AT_abstract_origin); ++hop) continue;
  const auto [found, is_new] = names_.try_emplace(origin.addr);
  SourceFrame& frame = found->second;
  if (!is_new) return frame;
  Dwarf_Attribute attribute;
  const char* linkage =
      dwarf_formstring(dwarf_attr_integrate(&origin, DW_AT_linkage_name, &attribute));
  if (linkage == nullptr) {
    linkage = dwarf_formstring(dwarf_attr_integrate(&origin, DW_AT_MIPS_linkage_name, &attribute));
  }
  if (linkage != nullptr) {
    frame.linkage_name = linkage;
    frame.name = demangle(linkage);
  } else if (const char* name = dwarf_diename(&origin)) {
    frame.name = scope_of(origin) + demangle(name);
  }
  set_declaration(&origin, &frame);
  return frame;
}

// "ns::Class::" for a C++ function without linkage name: functions that the compiler made itself,
// such as default constructors, have none. DWARF entries do not know their parents, so a unit that
// has such a function is walked once.
std::string DieNames::scope_of(Dwarf_Die function) {
  follow(&function, DW_AT_specification);  // the declaration is in its class
  Dwarf_Die unit;
  if (dwarf_diecu(&function, &unit, nullptr, nullptr) == nullptr || !is_cxx(&unit)) return {};
  if (unit_ != unit.addr) {
    unit_ = unit.addr;
    scopes_.clear();
    collect_scopes(&unit, "", 0);
  }
  const auto found = scopes_.find(function.addr);
  return found == scopes_.end() ? std::string() : found->second;
}

void DieNames::collect_scopes(Dwarf_Die* parent, const std::string& scope, int nesting) {
  Dwarf_Die child;
  if (nesting > kMaxNesting || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (is_scope(tag)) {
      collect_scopes(&child, scope + scope_name(&child) + "::", nesting + 1);
    } else if (tag == DW_TAG_subprogram && !scope.empty()) {
      scopes_.emplace(child.addr, scope);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace fbleprof::symbolize
