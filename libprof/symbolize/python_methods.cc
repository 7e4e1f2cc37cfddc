#include "symbolize/python_methods.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "symbolize/loaded_data.h"

namespace fbleprof::symbolize {
namespace {

// What a word of one of Python's structures may hold.
enum class Field : char {
  kAny,
  kCode = 'c',    // the address of a function, or 0
  kData = 'd',    // of data, or 0
  kNumber = 'n',  // a small number
  kText = 't',    // of a text, or 0
};

// PyTypeObject of CPython 3.9 to 3.13, word by word, behind its head and name. A function in a slot
// is called by the slot's name.
struct Slot {
  const char* name;
  Field field;
};
constexpr int kTypeName = 3, kFirstSlot = 4, kMethods = 29, kGetset = 31;
constexpr int kNumber = 12, kSequence = 13, kMapping = 14;
constexpr Slot kTypeSlots[] = {
    {"tp_basicsize", Field::kNumber},
    {"tp_itemsize", Field::kNumber},
    {"tp_dealloc", Field::kCode},
    {"tp_vectorcall_offset", Field::kNumber},
    {"tp_getattr", Field::kCode},
    {"tp_setattr", Field::kCode},
    {"tp_as_async", Field::kData},
    {"tp_repr", Field::kCode},
    {"tp_as_number", Field::kData},
    {"tp_as_sequence", Field::kData},
    {"tp_as_mapping", Field::kData},
    {"tp_hash", Field::kCode},
    {"tp_call", Field::kCode},
    {"tp_str", Field::kCode},
    {"tp_getattro", Field::kCode},
    {"tp_setattro", Field::kCode},
    {"tp_as_buffer", Field::kData},
    {"tp_flags", Field::kAny},
    {"tp_doc", Field::kAny},
    {"tp_traverse", Field::kCode},
    {"tp_clear", Field::kCode},
    {"tp_richcompare", Field::kCode},
    {"tp_weaklistoffset", Field::kNumber},
    {"tp_iter", Field::kCode},
    {"tp_iternext", Field::kCode},
    {"tp_methods", Field::kData},
    {"tp_members", Field::kData},
    {"tp_getset", Field::kData},
    {"tp_base", Field::kAny},
    {"tp_dict", Field::kNumber},
    {"tp_descr_get", Field::kCode},
    {"tp_descr_set", Field::kCode},
    {"tp_dictoffset", Field::kNumber},
    {"tp_init", Field::kCode},
    {"tp_alloc", Field::kCode},
    {"tp_new", Field::kCode},
};
constexpr const char* kNumberSlots[] = {"nb_add",
                                        "nb_subtract",
                                        "nb_multiply",
                                        "nb_remainder",
                                        "nb_divmod",
                                        "nb_power",
                                        "nb_negative",
                                        "nb_positive",
                                        "nb_absolute",
                                        "nb_bool",
                                        "nb_invert",
                                        "nb_lshift",
                                        "nb_rshift",
                                        "nb_and",
                                        "nb_xor",
                                        "nb_or",
                                        "nb_int",
                                        nullptr,
                                        "nb_float",
                                        "nb_inplace_add",
                                        "nb_inplace_subtract",
                                        "nb_inplace_multiply",
                                        "nb_inplace_remainder",
                                        "nb_inplace_power",
                                        "nb_inplace_lshift",
                                        "nb_inplace_rshift",
                                        "nb_inplace_and",
                                        "nb_inplace_xor",
                                        "nb_inplace_or",
                                        "nb_floor_divide",
                                        "nb_true_divide",
                                        "nb_inplace_floor_divide",
                                        "nb_inplace_true_divide",
                                        "nb_index",
                                        "nb_matrix_multiply",
                                        "nb_inplace_matrix_multiply"};
constexpr const char* kSequenceSlots[] = {
    "sq_length",   "sq_concat", "sq_repeat",   "sq_item",           nullptr,
    "sq_ass_item", nullptr,     "sq_contains", "sq_inplace_concat", "sq_inplace_repeat"};
constexpr const char* kMappingSlots[] = {"mp_length", "mp_subscript", "mp_ass_subscript"};
// PyType_Slot: the numbers of slots in the description of a type that is made at run time.
constexpr std::uint64_t kSpecMethods = 64, kSpecGetset = 73, kMostSpecSlots = 100;

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

class Methods {
 public:
  Methods(const LoadedData& data, std::deque<std::string>* names) : data_(data), names_(names) {}

  std::vector<RawSymbol> find() {
    data_.for_each_word([&](std::uint64_t at) {
      if (is_type(at)) return add_type(at);
      if (is_module(at)) return add_methods(text_at(at, 5), word(at, 8));
      if (is_spec(at)) add_spec(at);
    });
    name_shared();
    return std::move(symbols_);
  }

 private:
  static std::string_view last_part(std::string_view name) {
    return name.substr(name.rfind('.') + 1);
  }

  // Linkers and compilers fold equal functions into one, which then is no single type's.
  void name_shared() {
    std::sort(symbols_.begin(), symbols_.end(), [](const RawSymbol& a, const RawSymbol& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.name < b.name;
    });
    const auto is_same = [](const RawSymbol& a, const RawSymbol& b) {
      return a.begin == b.begin && a.name == b.name;
    };
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end(), is_same), symbols_.end());
    for (auto first = symbols_.begin(); first != symbols_.end();) {
      const auto next = std::find_if(
          first, symbols_.end(), [&](const RawSymbol& one) { return one.begin != first->begin; });
      const auto count = next - first;
      const bool is_one_slot = std::all_of(first, next, [&](const RawSymbol& one) {
        return last_part(one.name) == last_part(first->name);
      });
      if (count > 1 && is_one_slot) {
        names_->push_back(std::string(last_part(first->name)) + " of " + std::to_string(count) +
                          " types");
        for (auto one = first; one != next; ++one) one->name = names_->back();
      }
      first = next;
    }
  }

  std::uint64_t word(std::uint64_t at, int index) const {
    return data_.word(at + 8 * static_cast<std::uint64_t>(index));
  }
  std::string_view text_at(std::uint64_t at, int index) const {
    return data_.text(word(at, index));
  }
  bool is_code(std::uint64_t value) const { return data_.end_of_code(value) != 0; }

  bool fits(std::uint64_t value, Field field) const {
    if (value == 0 || field == Field::kAny) return true;
    const bool is_elsewhere = value == LoadedData::kElsewhere;
    switch (field) {
      case Field::kCode:
        return is_elsewhere || is_code(value);
      case Field::kData:
        return data_.is_data(value);
      default:
        return value < 1 << 16;
    }
  }

  bool is_type(std::uint64_t at) const {
    if (word(at, 0) == 0 || word(at, 2) != 0 || !is_name(text_at(at, kTypeName))) return false;
    bool has_code = false;
    int index = kFirstSlot;
    for (const Slot& slot : kTypeSlots) {
      const std::uint64_t value = word(at, index++);
      if (!fits(value, slot.field)) return false;
      has_code |= slot.field == Field::kCode && is_code(value);
    }
    return has_code || is_table_of_methods(word(at, kMethods));
  }

  // PyModuleDef.
  bool is_module(std::uint64_t at) const {
    return word(at, 0) != 0 && word(at, 2) == 0 && word(at, 3) == 0 && word(at, 4) == 0 &&
           is_name(text_at(at, 5)) && is_table_of_methods(word(at, 8));
  }

  // PyType_Spec: a name with its module, sizes, flags, and a table of slots.
  bool is_spec(std::uint64_t at) const {
    const std::string_view name = text_at(at, 0);
    const std::uint64_t slots = word(at, 3);
    return name.find('.') != std::string_view::npos && is_name(name) &&
           (word(at, 1) & UINT32_MAX) < 1 << 16 && data_.is_data(slots) && word(slots, 0) != 0 &&
           word(slots, 0) < kMostSpecSlots;
  }

  // PyMethodDef: name, function, flags, text.
  bool is_method(std::uint64_t at) const {
    return is_name(text_at(at, 0)) && is_code(word(at, 1)) && word(at, 2) < 1 << 12;
  }
  bool is_table_of_methods(std::uint64_t at) const { return is_method(at); }

  void add(std::string_view owner, std::string_view name, std::uint64_t code) {
    const std::uint64_t limit = data_.end_of_code(code);
    if (limit == 0) return;
    std::string full(owner == "builtins" ? "" : owner);
    if (!full.empty()) full += '.';
    names_->push_back(full.append(name));
    symbols_.push_back(
        {code, 0, limit, names_->back(), NameOrigin::kPythonTable, true, true, false});
  }

  void add_methods(std::string_view owner, std::uint64_t table) {
    for (; is_method(table); table += 32) add(owner, text_at(table, 0), word(table, 1));
  }
  // PyGetSetDef: name, getter, setter, text, closure.
  void add_attributes(std::string_view owner, std::uint64_t table) {
    for (; is_name(text_at(table, 0)); table += 40) {
      add(owner, text_at(table, 0), word(table, 1));
      add(owner, text_at(table, 0), word(table, 2));
    }
  }
  template <std::size_t kCount>
  void add_slots(std::string_view owner, std::uint64_t table, const char* const (&slots)[kCount]) {
    if (!data_.is_data(table)) return;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (slots[i] != nullptr) add(owner, slots[i], word(table, static_cast<int>(i)));
    }
  }

  void add_type(std::uint64_t at) {
    const std::string_view name = text_at(at, kTypeName);
    add_methods(name, word(at, kMethods));
    add_attributes(name, word(at, kGetset));
    int index = kFirstSlot;
    for (const Slot& slot : kTypeSlots) {
      const std::uint64_t value = word(at, index++);
      if (slot.field == Field::kCode) add(name, slot.name, value);
    }
    add_slots(name, word(at, kNumber), kNumberSlots);
    add_slots(name, word(at, kSequence), kSequenceSlots);
    add_slots(name, word(at, kMapping), kMappingSlots);
  }

  void add_spec(std::uint64_t at) {
    const std::string_view name = text_at(at, 0);
    std::uint64_t slot = word(at, 3);
    for (; word(slot, 0) != 0 && word(slot, 0) < kMostSpecSlots; slot += 16) {
      if (word(slot, 0) == kSpecMethods) add_methods(name, word(slot, 1));
      if (word(slot, 0) == kSpecGetset) add_attributes(name, word(slot, 1));
    }
  }

  const LoadedData& data_;
  std::deque<std::string>* names_;
  std::vector<RawSymbol> symbols_;
};

bool refers_to_python(const ElfObject& object) {
  const Section* names = object.section(".dynstr");
  return names != nullptr && (names->bytes().find("PyType_") != std::string_view::npos ||
                              names->bytes().find("PyModule") != std::string_view::npos);
}

bool is_supported(const ElfObject& object) {
  const char* identity = elf_getident(object.elf(), nullptr);
  return identity != nullptr && identity[EI_CLASS] == ELFCLASS64 &&
         identity[EI_DATA] == ELFDATA2LSB;
}

}  // namespace

std::vector<RawSymbol> read_python_methods(const ElfObject& object,
                                           std::deque<std::string>* names) {
  if (!is_supported(object) || !refers_to_python(object)) return {};
  const LoadedData data(object);
  return Methods(data, names).find();
}

}  // namespace fbleprof::symbolize
