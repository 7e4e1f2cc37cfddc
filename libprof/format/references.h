// All references in the file, and what a copy of the file does with one whose target is not in the
// copy. tests/unit/format_test compares the lists with format.h, so that no new Ref is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/format.h"

namespace fbleprof::format {

enum class Lacking : std::uint8_t {
  kField,   // the field becomes 0: its reader has a meaning for that
  kRecord,  // the whole record is left out: without the target it says nothing, or something else
};

// clang-format off
// The references of records: struct, field, kind of the target, and Lacking. A target of the kind
// kNodes is a Node. Records come after those that they lead to.
#define FBLEPROF_RECORD_REFERENCES(reference) \
  reference(Module, path, kString, kField) \
  reference(Module, build_id, kString, kField) \
  reference(Module, older, kModule, kField) \
  reference(Function, module, kModule, kRecord) \
  reference(Function, name, kString, kField) \
  reference(Function, linkage_name, kString, kField) \
  reference(Function, file, kString, kField) \
  reference(Function, language, kString, kField) \
  reference(Metric, name, kString, kRecord) \
  reference(Metric, unit, kString, kField) \
  reference(Metric, formula, kString, kRecord) \
  reference(Note, text, kString, kRecord) \
  reference(Label, key, kString, kRecord) \
  reference(Label, value, kString, kRecord) \
  reference(Label, set, kLabelSet, kRecord) \
  reference(Thread, wait_context, kNodes, kField) \
  reference(Tree, thread, kThread, kRecord) \
  reference(Tree, root, kNodes, kRecord) \
  reference(Tree, labels, kLabelSet, kRecord) \
  reference(Nodes, tree, kTree, kRecord) \
  reference(Edges, tree, kTree, kRecord) \
  reference(Values, tree, kTree, kRecord) \
  reference(Snapshot, name, kString, kField)

// Those of the header, which all become 0, with the kinds of their targets.
#define FBLEPROF_HEADER_REFERENCES(reference) \
  reference(executable, kString) \
  reference(command_line, kString) \
  reference(working_directory, kString) \
  reference(host, kString) \
  reference(newest_module, kModule)

// Those of items, of which each kind has its own rule. Sites that are places of a source file
// (kSiteIsPlace) contain one more, to the file's name.
#define FBLEPROF_ITEM_REFERENCES(reference) \
  reference(Node, parent) \
  reference(Node, function) \
  reference(Node, values) \
  reference(Edge, from) \
  reference(Edge, to) \
  reference(Edge, function) \
  reference(SnapshotItems, snapshot) \
  reference(SnapshotItem, of)
// clang-format on

struct Reference {
  Kind of;
  std::uint16_t offset;  // of the Ref, in bytes
  Kind to;
  Lacking lacking;
};

#define FBLEPROF_REFERENCE(record, field, to, lacking) \
  {Kind::k##record, offsetof(record, field), Kind::to, Lacking::lacking},
inline constexpr Reference kRecordReferences[] = {FBLEPROF_RECORD_REFERENCES(FBLEPROF_REFERENCE)};
#undef FBLEPROF_REFERENCE

}  // namespace fbleprof::format
