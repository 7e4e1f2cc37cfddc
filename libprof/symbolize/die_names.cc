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

bool is_called(Dwarf_Die* die, std::string_view name) {
  const char* own = dwarf_diename(die);
  return own != nullptr && own == name;
}

// gcc's class of a lambda has no name.
bool is_lambda(Dwarf_Die* scope) {
  Dwarf_Die child;
  if (dwarf_child(scope, &child) != 0) return false;
  do {
    if (dwarf_tag(&child) == DW_TAG_subprogram && is_called(&child, "operator()")) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// `lambdas` is the number of lambdas before it in the same function or scope.
std::string scope_name(Dwarf_Die* scope, int& lambdas) {
  if (const char* name = dwarf_diename(scope)) return name;
  if (is_lambda(scope)) return "{lambda#" + std::to_string(++lambdas) + "}";
  return dwarf_tag(scope) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed}";
}

const char* linkage_name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  if (const char* name =
          dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute))) {
    return name;
  }
  return dwarf_formstring(dwarf_attr_integrate(function, DW_AT_MIPS_linkage_name, &attribute));
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
  if (const char* linkage = linkage_name_of(&origin)) {
    frame.linkage_name = linkage;
    frame.name = demangle(linkage);
  } else if (const char* name = dwarf_diename(&origin)) {
    frame.name = scope_of(origin) + demangle(name);
  }
  set_declaration(&origin, &frame);
  return frame;
}

// "ns::Class::" for a C++ function without linkage name: functions that the compiler made itself,
// such as default constructors, have none, nor do gcc's lambdas, "f()::{lambda#1}::". DWARF entries
// do not know their parents, so a unit that has such a function is walked once.
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
  int lambdas = 0;
  do {
    const int tag = dwarf_tag(&child);
    if (is_scope(tag)) {
      collect_scopes(&child, scope + scope_name(&child, lambdas) + "::", nesting + 1);
    } else if (tag == DW_TAG_subprogram) {
      if (!scope.empty()) scopes_.emplace(child.addr, scope);
      int own_lambdas = 0;
      collect_local_scopes(&child, &child, scope, own_lambdas, nesting + 1);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

// The classes in a function, of which `part` is a block, or the function itself.
void DieNames::collect_local_scopes(Dwarf_Die* part, Dwarf_Die* function, const std::string& scope,
                                    int& lambdas, int nesting) {
  Dwarf_Die child;
  if (nesting > kMaxNesting || dwarf_child(part, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_lexical_block) {
      collect_local_scopes(&child, function, scope, lambdas, nesting + 1);
    } else if (is_scope(tag)) {
      const char* linkage = linkage_name_of(function);
      const char* name = dwarf_diename(function);
      const std::string of_function =
          linkage != nullptr ? demangle(linkage) : scope + (name != nullptr ? name : "");
      collect_scopes(&child, of_function + "::" + scope_name(&child, lambdas) + "::", nesting + 1);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

}  // namespace fbleprof::symbolize
