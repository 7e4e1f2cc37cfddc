#include "adapters/luajit_names.h"

namespace fbleprof::adapters::luajit {

namespace {

// The operations that load a function before a call, and those that jump there.
enum Operation : std::uint8_t {
  kMove = 18,
  kGetUpvalue = 45,
  kGetGlobal = 54,
  kGetField = 57,
  kCallMany = 65,
  kCall = 66,
  kLoop = 85,
  kJump = 88,
};
constexpr std::size_t kTextOfString = 24, kIdOfString = 12;
constexpr std::size_t kFirstUpvalue = 40, kSlotOfUpvalue = 32;
constexpr int kMostInstructions = 256;

struct RawTable {
  Header header;
  Address array, gc_list, meta_table, nodes;
  std::uint32_t array_size, node_mask;
};
struct Node {
  std::uint64_t value, key;
  Address next;
};

// Reads text up to its end. False: there is none.
bool read_text(Address from, Name* name) {
  std::size_t size = 0;
  while (size + 1 < sizeof name->text && peek(from + size, name->text + size) && name->text[size])
    ++size;
  name->text[size] = 0;
  return size != 0;
}

class Caller {
 public:
  explicit Caller(const Call& call) : call_(call) {}

  bool read() {
    return peek(call_.caller, &function_) && function_.header.kind == kIsFunction &&
           is_of_lua(function_) && peek(prototype_of(function_), &prototype_) &&
           call_.site > function_.code &&
           call_.site <= function_.code + prototype_.header.more * sizeof(Instruction);
  }

  // The name of what the slot holds before the instruction at `at`, and its value; 0: unknown.
  bool name_of_slot(Address at, std::uint32_t slot, Name* name, std::uint64_t* value,
                    int depth = 0) const {
    constexpr int kMostSteps = 8;
    *value = 0;
    if (read_variable(at, slot, name)) {
      if (call_.caller_base != 0) peek(call_.caller_base + slot * 8, value);
      return true;
    }
    Address load = at;
    Instruction code = 0;
    if (depth == kMostSteps || !find_load(&load, slot, &code)) return false;
    switch (operation(code)) {
      case kMove:
        return name_of_slot(load, operand_d(code), name, value, depth + 1);
      case kGetUpvalue:
        *value = upvalue(operand_d(code));
        return read_upvalue_name(operand_d(code), name);
      case kGetGlobal:
        return read_field(function_.environment, operand_d(code), name, value);
      case kGetField: {
        std::uint64_t table = 0;
        name_of_slot(load, operand_b(code), name, &table, depth + 1);
        return read_field(object_of(table), operand_c(code), name, value);
      }
      default:
        return false;
    }
  }

 private:
  // Finds the newest instruction before `at` that sets the slot.
  bool find_load(Address* at, std::uint32_t slot, Instruction* code) const {
    for (int i = 0; i<kMostInstructions&& * at> function_.code + sizeof *code; ++i) {
      *at -= sizeof *code;
      if (!peek(*at, code)) return false;
      const std::uint8_t what = operation(*code);
      if (what >= kLoop && what <= kJump) continue;
      if (operand_a(*code) == slot) return true;
    }
    return false;
  }

  // A number of the compressed table of variables: 7 bits a byte, the lowest first.
  static bool take_number(Address* at, std::uint32_t* number) {
    *number = 0;
    for (int shift = 0; shift < 32; shift += 7) {
      std::uint8_t byte = 0;
      if (!peek((*at)++, &byte)) return false;
      *number |= std::uint32_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // The local variable in a slot; those of the compiler have no names.
  bool read_variable(Address at, std::uint32_t slot, Name* name) const {
    constexpr std::uint8_t kFirstLetter = 7;
    constexpr int kMostVariables = 256;
    const auto now = static_cast<std::uint32_t>((at - function_.code) / sizeof(Instruction));
    Address next = prototype_.variables;
    std::uint32_t begin = 0;
    for (int i = 0; i < kMostVariables && next != 0; ++i) {
      std::uint8_t first = 0;
      if (!peek(next, &first) || first == 0) return false;
      const Address variable = next;
      if (first >= kFirstLetter) {
        for (std::uint8_t letter = first; letter != 0;) {
          if (!peek(++next, &letter)) return false;
        }
      }
      ++next;
      std::uint32_t delta = 0, length = 0;
      if (!take_number(&next, &delta) || (begin += delta) > now || !take_number(&next, &length))
        return false;
      if (now >= begin + length || slot-- != 0) continue;
      return first >= kFirstLetter && read_text(variable, name);
    }
    return false;
  }

  bool read_upvalue_name(std::uint32_t index, Name* name) const {
    Address at = prototype_.upvalue_names;
    if (at == 0 || index >= prototype_.upvalue_count) return false;
    for (; index != 0; --index) {
      for (char letter = 1; letter != 0;) {
        if (!peek(at++, &letter)) return false;
      }
    }
    return read_text(at, name);
  }

  std::uint64_t upvalue(std::uint32_t index) const {
    Address object = 0, slot = 0;
    std::uint64_t value = 0;
    if (!peek(call_.caller + kFirstUpvalue + index * 8, &object) ||
        !peek(object + kSlotOfUpvalue, &slot) || !peek(slot, &value)) {
      return 0;
    }
    return value;
  }

  // Reads the name that is the constant of this number, and looks it up in the table.
  bool read_field(Address table, std::uint32_t number, Name* name, std::uint64_t* value) const {
    Address key = 0;
    if (!peek(prototype_.constants - (number + 1) * 8, &key) ||
        !read_text(key + kTextOfString, name)) {
      return false;
    }
    *value = field(table, key);
    return true;
  }

  // 0: there is none, or a metatable may know it.
  static std::uint64_t field(Address table, Address key) {
    constexpr int kMostNodes = 32;
    constexpr std::uint64_t kNil = ~std::uint64_t{0};
    RawTable raw;
    std::uint32_t id = 0;
    if (!peek(table, &raw) || raw.header.kind != kIsTable || !peek(key + kIdOfString, &id))
      return 0;
    Address at = raw.nodes + (id & raw.node_mask) * sizeof(Node);
    Node node;
    for (int i = 0; i < kMostNodes && peek(at, &node); ++i, at = node.next) {
      if (object_of(node.key) == key) return node.value == kNil ? 0 : node.value;
    }
    return 0;
  }

  const Call& call_;
  RawFunction function_;
  RawPrototype prototype_;
};

}  // namespace

bool called_name(const Call& call, Name* name) {
  Caller caller(call);
  Instruction code = 0;
  const Address at = call.site - sizeof code;
  if (!caller.read() || !peek(at, &code)) return false;
  if (operation(code) != kCall && operation(code) != kCallMany) return false;
  std::uint64_t value = 0;
  return caller.name_of_slot(at, operand_a(code), name, &value) &&
         (value == 0 || object_of(value) == call.callee);
}

}  // namespace fbleprof::adapters::luajit
