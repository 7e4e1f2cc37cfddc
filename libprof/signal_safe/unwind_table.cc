#include "signal_safe/unwind_table.h"

#include <dlfcn.h>
#include <link.h>

#include "arch/landing_pad.h"
#include "signal_safe/session.h"

namespace fbleprof::signal_safe {

namespace {

constexpr std::uint64_t kPage = 4096;

// DWARF pointer encodings, as far as linkers use them in .eh_frame_hdr and .eh_frame.
constexpr std::uint8_t kAbsolute8 = 0x00, kUdata4 = 0x03, kUdata8 = 0x04, kSdata4 = 0x0b,
                       kSdata8 = 0x0c;
constexpr std::uint8_t kTableOfSdata4 = 0x3b;  // data-relative
constexpr std::uint8_t kCountUdata4 = 0x03;

template <typename T>
T load(const std::uint8_t* at) {
  T value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t read_uleb(const std::uint8_t** at) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const std::uint8_t byte = *(*at)++;
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80)) break;
  }
  return value;
}

std::int64_t read_sleb(const std::uint8_t** at) {
  std::int64_t value = 0;
  int shift = 0;
  std::uint8_t byte;
  do {
    byte = *(*at)++;
    value |= static_cast<std::int64_t>(byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80 && shift < 63);
  if (byte & 0x40) value |= static_cast<std::int64_t>(~std::uint64_t{0} << shift);
  return value;
}

// The parts of a common information entry that matter here.
struct Cie {
  std::uint64_t code_alignment = 1;
  std::int64_t data_alignment = 1;
  std::uint8_t pointer_encoding = kAbsolute8;
  bool has_augmentation_data = false, is_signal_frame = false, is_known = true;
  const std::uint8_t *begin = nullptr, *end = nullptr;  // its instructions
};

Cie read_cie(const std::uint8_t* fde) {
  Cie cie;
  const std::uint8_t* entry = fde + 4 - load<std::uint32_t>(fde + 4);
  cie.end = entry + 4 + load<std::uint32_t>(entry);
  const std::uint8_t* at = entry + 8;
  const std::uint8_t version = *at++;
  const char* augmentation = reinterpret_cast<const char*>(at);
  while (*at++) {
  }
  cie.code_alignment = read_uleb(&at);
  cie.data_alignment = read_sleb(&at);
  if (version == 1) {
    ++at;  // the return address's register
  } else {
    read_uleb(&at);
  }
  if (augmentation[0] == 'z') {
    cie.has_augmentation_data = true;
    const std::uint64_t length = read_uleb(&at);
    const std::uint8_t* data = at;
    at += length;
    for (const char* letter = augmentation + 1; *letter; ++letter) {
      if (*letter == 'R') {
        cie.pointer_encoding = *data++;
      } else if (*letter == 'L') {
        ++data;
      } else if (*letter == 'P') {
        const std::uint8_t size = *data++ & 0x0f;
        data += size == kUdata4 || size == kSdata4 ? 4 : 8;
      } else if (*letter == 'S') {
        cie.is_signal_frame = true;
      }
    }
  } else if (augmentation[0] != 0) {
    cie.is_known = false;
  }
  cie.begin = at;
  return cie;
}

std::uint64_t pointer_bytes(std::uint8_t encoding) {
  switch (encoding & 0x0f) {
    case kUdata4:
    case kSdata4:
      return 4;
    case kAbsolute8:
    case kUdata8:
    case kSdata8:
      return 8;
    default:
      return 0;
  }
}

std::uint64_t code_length(const std::uint8_t* fde) {
  switch (pointer_bytes(read_cie(fde).pointer_encoding)) {
    case 4:
      return load<std::uint32_t>(fde + 12);
    case 8:
      return load<std::uint64_t>(fde + 16);
    default:
      return 0;
  }
}

struct TableRow {
  std::int32_t start, fde;  // relative to the header
};

// The table's answer for an address: the entry that covers it, or the gap around it.
struct Found {
  CodeRange range;
  const std::uint8_t* fde = nullptr;
};

// The header's table: a row for each entry, by address.
struct Table {
  std::uint64_t base = 0;
  const std::uint8_t* rows = nullptr;
  std::uint32_t count = 0;

  explicit Table(const LoadedObject& object) {
    const std::uint8_t* header = object.eh_frame_header;
    if (!header || header[0] != 1 || header[2] != kCountUdata4 || header[3] != kTableOfSdata4) {
      return;
    }
    base = reinterpret_cast<std::uint64_t>(header);
    const std::uint8_t* count_at = header + 4 + pointer_bytes(header[1]);
    count = load<std::uint32_t>(count_at);
    rows = count_at + 4;
  }
  TableRow row(std::uint32_t i) const { return load<TableRow>(rows + std::uint64_t{i} * 8); }
  std::uint64_t start_of(std::uint32_t i) const {
    return base + static_cast<std::uint64_t>(std::int64_t{row(i).start});
  }
};

Found look_up(std::uint64_t address, const LoadedObject& object) {
  const Table table(object);
  if (!table.rows) return {};
  const std::uint32_t count = table.count;
  std::uint32_t low = 0, high = count;  // the first row that starts after the address
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (table.start_of(middle) <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  std::uint64_t gap_begin = object.begin;
  if (low > 0) {
    const std::uint8_t* fde = object.eh_frame_header + table.row(low - 1).fde;
    const std::uint64_t start = table.start_of(low - 1), length = code_length(fde);
    if (address < start + length) {
      return {{start, static_cast<std::uint32_t>(length), true}, fde};
    }
    // The neighbours may lie beyond a hole between segments.
    if (start + length > gap_begin) gap_begin = start + length;
  }
  std::uint64_t gap_end = object.end;
  if (low < count && table.start_of(low) < gap_end) gap_end = table.start_of(low);
  return {{gap_begin, static_cast<std::uint32_t>(gap_end - gap_begin), false}, nullptr};
}

// A row of the table that the call frame instructions describe, for the registers that matter.
struct Row {
  FrameRule::Base base = FrameRule::Base::kUnknown;
  std::int64_t cfa_offset = 0;
  FrameRule::SavedFp saved_fp = FrameRule::SavedFp::kUnchanged;
  std::int64_t fp_offset = 0;
  std::uint8_t cfa_register = 0;
  std::int8_t saved_base = FrameRule::kBaseUnchanged;
  bool is_outermost = false;  // the return address is undefined
  bool return_at_cfa = true;  // it is where calls put it: CFA - 8
  bool may_leave = false;     // of a function that leaves for a landing pad
};

// DWARF's operator for register 0 plus an offset; those of other registers follow.
constexpr std::uint8_t kBreg0 = 0x70;

// The expressions that compilers and linkers emit for a CFA on x86-64; others are not handled.
void set_cfa_expression(Row& row, const std::uint8_t* expression, std::uint64_t length) {
  constexpr std::uint8_t kBregSp = kBreg0 + arch::kDwarfSp, kBregFp = kBreg0 + arch::kDwarfFp,
                         kDeref = 0x06, kPlusUconst = 0x23, kLit0 = 0x30;
  const std::uint8_t* at = expression;
  row.base = FrameRule::Base::kUnknown;
  if (length >= 3 && *at == kBregFp) {
    ++at;
    const std::int64_t offset = read_sleb(&at);
    if (at + 1 == expression + length && *at == kDeref) {
      row.base = FrameRule::Base::kDerefFp;
      row.cfa_offset = offset;
    }
  } else if (length == 11 && at[0] == kBregSp && at[1] == 8 && at[2] == 0x80 &&
             at[4] == kLit0 + 15) {
    // sp + 8 + ((pc & 15) >= n) * 8
    row.base = FrameRule::Base::kPltEntry;
    row.cfa_offset = at[6] - kLit0;
  } else if (length >= 5 && *at == kBregSp) {
    ++at;
    const std::int64_t offset = read_sleb(&at);
    if (at + 3 == expression + length && at[0] == kDeref && at[1] == kPlusUconst && at[2] == 8) {
      row.base = FrameRule::Base::kDerefSp;
      row.cfa_offset = offset;
    }
  }
}

void set_fp_expression(Row& row, const std::uint8_t* expression, std::uint64_t length) {
  constexpr std::uint8_t kBregFp = kBreg0 + arch::kDwarfFp;
  const std::uint8_t* at = expression + 1;
  if (length >= 2 && expression[0] == kBregFp) {
    row.fp_offset = read_sleb(&at);
    row.saved_fp = FrameRule::SavedFp::kAtFp;
  } else {
    row.base = FrameRule::Base::kUnknown;
  }
}

// Runs call frame instructions up to the row of `address`. False: one of them is not handled.
class RowMachine {
 public:
  RowMachine(const Cie& cie, std::uint64_t start, std::uint64_t address)
      : cie_(cie), location_(start), address_(address) {}

  bool run_initial() {
    if (!run(cie_.begin, cie_.end)) return false;
    initial_ = row_;
    return true;
  }
  bool run(const std::uint8_t* at, const std::uint8_t* end);
  const Row& row() const { return row_; }

 private:
  void set_register(std::uint64_t reg, FrameRule::SavedFp how, std::int64_t offset) {
    if (reg == arch::kDwarfFp) {
      row_.saved_fp = how;
      row_.fp_offset = offset;
    } else if (reg == arch::kDwarfBase) {
      row_.saved_base = how == FrameRule::SavedFp::kUnchanged ? FrameRule::kBaseUnchanged
                        : offset % 8 == 0 && offset < 0 && offset >= -8 * 128
                            ? static_cast<std::int8_t>(offset / 8)
                            : FrameRule::kBaseLost;
    } else if (reg == arch::kDwarfReturn) {
      row_.return_at_cfa = how == FrameRule::SavedFp::kAtCfa && offset == -8;
    } else if (reg == arch::kDwarfLandingArgument) {
      row_.may_leave = true;
    }
  }
  void restore(std::uint64_t reg) {
    if (reg == arch::kDwarfFp) {
      row_.saved_fp = initial_.saved_fp;
      row_.fp_offset = initial_.fp_offset;
    } else if (reg == arch::kDwarfBase) {
      row_.saved_base = initial_.saved_base;
    }
  }
  void set_cfa(std::uint64_t reg, std::int64_t offset) {
    row_.base = reg == arch::kDwarfSp   ? FrameRule::Base::kSp
                : reg == arch::kDwarfFp ? FrameRule::Base::kFp
                : reg < 16              ? FrameRule::Base::kRegister
                                        : FrameRule::Base::kUnknown;
    row_.cfa_register = static_cast<std::uint8_t>(reg);
    row_.cfa_offset = offset;
  }

  static constexpr int kRemembered = 8;
  const Cie& cie_;
  std::uint64_t location_, address_;
  Row row_, initial_, remembered_[kRemembered];
  int remembered_count_ = 0;
};

bool RowMachine::run(const std::uint8_t* at, const std::uint8_t* end) {
  using SavedFp = FrameRule::SavedFp;
  auto advance = [&](std::uint64_t delta) {
    location_ += delta * cie_.code_alignment;
    return location_ <= address_;  // else: the row is complete
  };
  while (at < end) {
    const std::uint8_t op = *at++;
    const std::uint8_t low = op & 0x3f;
    switch (op >> 6) {
      case 1:  // advance_loc
        if (!advance(low)) return true;
        continue;
      case 2:  // offset
        set_register(low, SavedFp::kAtCfa,
                     static_cast<std::int64_t>(read_uleb(&at)) * cie_.data_alignment);
        continue;
      case 3:  // restore
        restore(low);
        continue;
      default:
        break;
    }
    switch (op) {
      case 0x00:
        break;  // nop
      case 0x02:
        if (!advance(*at++)) return true;
        break;
      case 0x03:
        at += 2;
        if (!advance(load<std::uint16_t>(at - 2))) return true;
        break;
      case 0x04:
        at += 4;
        if (!advance(load<std::uint32_t>(at - 4))) return true;
        break;
      case 0x05: {  // offset_extended
        const std::uint64_t reg = read_uleb(&at);
        set_register(reg, SavedFp::kAtCfa,
                     static_cast<std::int64_t>(read_uleb(&at)) * cie_.data_alignment);
        break;
      }
      case 0x06:
        restore(read_uleb(&at));
        break;
      case 0x07:  // undefined
        if (read_uleb(&at) == arch::kDwarfReturn) row_.is_outermost = true;
        break;
      case 0x08:
        set_register(read_uleb(&at), SavedFp::kUnchanged, 0);
        break;      // same_value
      case 0x09: {  // register
        const std::uint64_t reg = read_uleb(&at);
        read_uleb(&at);
        if (reg == arch::kDwarfFp) return false;
        if (reg == arch::kDwarfBase) row_.saved_base = FrameRule::kBaseLost;
        if (reg == arch::kDwarfReturn) row_.return_at_cfa = false;
        break;
      }
      case 0x0a:  // remember_state
        if (remembered_count_ == kRemembered) return false;
        remembered_[remembered_count_++] = row_;
        break;
      case 0x0b:  // restore_state
        if (remembered_count_ == 0) return false;
        row_ = remembered_[--remembered_count_];
        break;
      case 0x0c: {  // def_cfa
        const std::uint64_t reg = read_uleb(&at);
        set_cfa(reg, static_cast<std::int64_t>(read_uleb(&at)));
        break;
      }
      case 0x0d:
        set_cfa(read_uleb(&at), row_.cfa_offset);
        break;  // def_cfa_register
      case 0x0e:
        row_.cfa_offset = static_cast<std::int64_t>(read_uleb(&at));
        break;
      case 0x0f: {  // def_cfa_expression
        const std::uint64_t length = read_uleb(&at);
        set_cfa_expression(row_, at, length);
        at += length;
        break;
      }
      case 0x10: {  // expression
        const std::uint64_t reg = read_uleb(&at), length = read_uleb(&at);
        if (reg == arch::kDwarfFp) set_fp_expression(row_, at, length);
        if (reg == arch::kDwarfBase) row_.saved_base = FrameRule::kBaseLost;
        if (reg == arch::kDwarfReturn) row_.return_at_cfa = false;
        at += length;
        break;
      }
      case 0x11: {  // offset_extended_sf
        const std::uint64_t reg = read_uleb(&at);
        set_register(reg, SavedFp::kAtCfa, read_sleb(&at) * cie_.data_alignment);
        break;
      }
      case 0x12: {  // def_cfa_sf
        const std::uint64_t reg = read_uleb(&at);
        set_cfa(reg, read_sleb(&at) * cie_.data_alignment);
        break;
      }
      case 0x13:
        row_.cfa_offset = read_sleb(&at) * cie_.data_alignment;
        break;
      case 0x14:    // val_offset
      case 0x15: {  // val_offset_sf
        const std::uint64_t reg = read_uleb(&at);
        read_uleb(&at);
        if (reg == arch::kDwarfFp || reg == arch::kDwarfReturn) return false;
        if (reg == arch::kDwarfBase) row_.saved_base = FrameRule::kBaseLost;
        break;
      }
      case 0x16: {  // val_expression
        const std::uint64_t reg = read_uleb(&at), length = read_uleb(&at);
        if (reg == arch::kDwarfFp || reg == arch::kDwarfReturn) return false;
        if (reg == arch::kDwarfBase) row_.saved_base = FrameRule::kBaseLost;
        at += length;
        break;
      }
      case 0x2e:
        read_uleb(&at);
        break;  // GNU_args_size
      default:
        return false;
    }
  }
  return true;
}

// How to step from a function that leaves for a landing pad, or returns. Its last instruction has
// the landing pad's address in a register, and still below the stack pointer.
FrameRule::Base base_for_leaving(const Row& row, std::uint64_t address, const CodeRange& code) {
  switch (arch::leaving_at(reinterpret_cast<const std::uint8_t*>(address),
                           reinterpret_cast<const std::uint8_t*>(code.start + code.size))) {
    case arch::Leaving::kPrepared:
      return FrameRule::Base::kLeaving;
    case arch::Leaving::kCompleted:
      return FrameRule::Base::kLandingPad;
    default:
      return row.return_at_cfa ? row.base : FrameRule::Base::kUnknown;
  }
}

}  // namespace

CodeRange code_range_at(std::uint64_t address) {
  LoadedObject object;
  if (!find_object(address, &object)) return {address / kPage * kPage, 0};  // made at run time
  const Found found = look_up(address, object);
  if (found.range.start != 0) return found.range;
  return {object.begin, static_cast<std::uint32_t>(object.end - object.begin)};
}

CodeRange code_range_in(const LoadedObject& object, std::uint64_t address) {
  return look_up(address, object).range;
}

std::uint32_t entry_count(const LoadedObject& object) { return Table(object).count; }

std::uint64_t entry_start(const LoadedObject& object, std::uint32_t number) {
  return Table(object).start_of(number);
}

FrameRule frame_rule_at(std::uint64_t address) {
  FrameRule rule;
  LoadedObject object;
  if (session.trampolines.contains(address)) {
    // Our code near a module: nothing is pushed before or by the hook.
    rule.base = FrameRule::Base::kSp;
    rule.cfa_offset = 8;
    return rule;
  }
  return find_object(address, &object) ? frame_rule_in(object, address) : rule;
}

FrameRule frame_rule_in(const LoadedObject& object, std::uint64_t address) {
  FrameRule rule;
  const Found found = look_up(address, object);
  if (!found.fde) return rule;
  const Cie cie = read_cie(found.fde);
  if (!cie.is_known) return rule;
  if (cie.is_signal_frame) {
    rule.base = FrameRule::Base::kSignalFrame;
    return rule;
  }
  const std::uint8_t* at = found.fde + 8 + 2 * pointer_bytes(cie.pointer_encoding);
  const std::uint8_t* end = found.fde + 4 + load<std::uint32_t>(found.fde);
  if (cie.has_augmentation_data) {
    const std::uint64_t length = read_uleb(&at);
    at += length;
  }
  RowMachine machine(cie, found.range.start, address);
  if (!machine.run_initial() || !machine.run(at, end)) return rule;
  const Row& row = machine.row();
  if (row.is_outermost) {
    rule.base = FrameRule::Base::kEnd;
  } else if (row.return_at_cfa || row.may_leave) {
    rule.base = row.may_leave ? base_for_leaving(row, address, found.range) : row.base;
    rule.cfa_offset = static_cast<std::int32_t>(row.cfa_offset);
    rule.saved_fp = row.saved_fp;
    rule.fp_offset = static_cast<std::int32_t>(row.fp_offset);
    rule.cfa_register = row.base == FrameRule::Base::kSp ? arch::kDwarfSp : row.cfa_register;
    rule.saved_base = row.saved_base;
  }
  return rule;
}

}  // namespace fbleprof::signal_safe
