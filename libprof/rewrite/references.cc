#include "rewrite/references.h"

#include <algorithm>
#include <bitset>
#include <cstring>

namespace fbleprof::rewrite {
namespace {

using Kind = Instruction::Kind;

// Whether control may leave the function there other than by its return, or by a signal.
bool leaves(const Instruction& instruction, const Function& function) {
  switch (instruction.kind) {
    case Kind::kCall:
    case Kind::kIndirectCall:
    case Kind::kIndirectJump:
      return true;
    case Kind::kJump:
    case Kind::kBranch:
    case Kind::kUnmovable:
      return instruction.target == function.begin || !function.contains(instruction.target);
    case Kind::kPlain:
    case Kind::kReturn:
    case Kind::kStop:
      return false;
  }
  return true;
}

// A return to an address that the code has just written is an indirect jump: `push %rcx; ret`, or,
// in code that is built against speculation, `mov %rcx,(%rsp); ret`.
class WrittenReturn {
 public:
  bool is_used_by(const Instruction& instruction) {
    const bool is_used = is_written_ && instruction.kind == Kind::kReturn;
    is_written_ = instruction.writes_return ||
                  (is_written_ && !instruction.moves_stack && instruction.kind == Kind::kPlain);
    return is_used;
  }

 private:
  bool is_written_ = false;
};

bool is_lfence(const std::uint8_t* code) {
  constexpr std::uint8_t kFence[] = {0x0f, 0xae, 0xe8};
  return std::memcmp(code, kFence, sizeof kFence) == 0;
}

// `jmp *%reg`, with or without a prefix.
bool jumps_by_register(const ElfImage& image, const Instruction& instruction) {
  const std::uint8_t* end = image.at(instruction.end() - 2, 2);
  return instruction.kind == Kind::kIndirectJump && end && end[0] == 0xff &&
         (end[1] & 0xf8) == 0xe0;
}

// `cmp %fs:0x70, %rsp` or `%r11`: libc keeps that word for the purpose (__private_ss).
bool compares_with_stack_end(const ElfImage& image, Address at) {
  constexpr std::uint8_t kOfRsp[] = {0x64, 0x48, 0x3b, 0x24, 0x25, 0x70, 0, 0, 0};
  constexpr std::uint8_t kOfR11[] = {0x64, 0x4c, 0x3b, 0x1c, 0x25, 0x70, 0, 0, 0};
  const std::uint8_t* code = image.at(at, sizeof kOfRsp);
  return code && (std::memcmp(code, kOfRsp, sizeof kOfRsp) == 0 ||
                  std::memcmp(code, kOfR11, sizeof kOfR11) == 0);
}

}  // namespace

// Tells whether code relies on things that callers do not pass: it reads flags before it writes
// them, or memory below the stack pointer that it did not write itself. Memory: assumes that code
// runs in order of address, which errs on the safe side.
class References::Reliance {
 public:
  // `may_end`: the function may end with the instruction.
  void see(const Instruction& instruction, const std::vector<BelowStack>& accesses, bool may_end) {
    see_flags(instruction, may_end);
    for (const BelowStack& access : accesses) {
      for (int i = 0; i < access.bytes; ++i) {
        const std::int64_t byte = access.offset + i + kRedZone;
        if (byte < 0 || byte >= kRedZone) continue;
        if (access.is_read && !written_[static_cast<std::size_t>(byte)]) relies_ = true;
        if (access.is_written) written_.set(static_cast<std::size_t>(byte));
      }
    }
  }
  bool relies() const { return relies_; }
  bool may_keep_flags() const { return may_keep_flags_; }

 private:
  // Jumps forward, over which some flags are the caller's. Code that is reached by a jump back was
  // seen before, with the flags that it had then.
  struct Jump {
    Address target;
    std::uint8_t known, written;
  };

  void see_flags(const Instruction& instruction, bool may_end) {
    for (const Jump& jump : jumps_) {
      if (jump.target != instruction.address) continue;
      known_flags_ &= jump.known;
      written_flags_ &= jump.written;
    }
    if ((instruction.reads_flags & ~known_flags_) != 0) relies_ = true;
    known_flags_ |= instruction.writes_flags;
    written_flags_ |= instruction.writes_flags;
    if (may_end && written_flags_ != kAllFlags) may_keep_flags_ = true;
    const bool is_jump = instruction.kind == Kind::kJump || instruction.kind == Kind::kBranch ||
                         instruction.kind == Kind::kUnmovable;
    if (is_jump && written_flags_ != kAllFlags && instruction.target > instruction.address) {
      jumps_.push_back({instruction.target, known_flags_, written_flags_});
    }
    // A callee leaves its own flags, and only jumps lead behind the end of a flow.
    const bool ends_flow = instruction.ends_flow() && instruction.kind != Kind::kIndirectJump;
    if (ends_flow || instruction.is_call()) known_flags_ = kAllFlags;
    if (ends_flow) written_flags_ = kAllFlags;
  }

  static constexpr std::int64_t kRedZone = 128;
  bool relies_ = false, may_keep_flags_ = false;
  std::uint8_t known_flags_ = 0;
  std::uint8_t written_flags_ = 0;  // without those that callees may have written
  std::vector<Jump> jumps_;
  std::bitset<kRedZone> written_;
};

// Tells which functions' flags code may read: those that it called since it last wrote them. Most
// leave flags of their own, which nothing reads. But a compiler that moves what many functions have
// in common into one of its own (LLVM's machine outliner) may do so between two instructions of
// which the second reads the flags that the first wrote.
class References::FlagsOfCalls {
 public:
  explicit FlagsOfCalls(References& references) : references_(references) {}

  // Decodes other instructions.
  void see(const Instruction& instruction) {
    const bool is_call = instruction.kind == Kind::kCall;
    if (!called_.empty()) {
      const bool leads_to_reader = (is_call || instruction.kind == Kind::kJump) &&
                                   references_.reads_flags_at(instruction.target);
      if ((instruction.reads_flags & ~written_) != 0 || leads_to_reader) {
        references_.calls_before_readers_.push_back(called_);
      }
      written_ |= instruction.writes_flags;
      if (written_ == kAllFlags || instruction.ends_flow() ||
          instruction.kind == Kind::kIndirectCall) {
        called_.clear();
      }
    }
    if (!is_call) return;
    if (called_.size() == kMostCalls) called_.erase(called_.begin());
    called_.push_back(instruction.target);
    written_ = 0;
  }

 private:
  static constexpr std::size_t kMostCalls = 8;
  References& references_;
  std::vector<Address> called_;
  std::uint8_t written_ = 0;  // since the last call
};

References::References(const ElfImage& image, std::vector<Function>& functions,
                       void (*progress)(double))
    : image_(image), functions_(functions), decoder_(image) {
  pointed_.resize(image.text_end() - image.text_begin());
  known_.resize(pointed_.size());
  in_own_table_.resize(pointed_.size());
  pointed_plainly_.resize(pointed_.size());
  starts_.resize(pointed_.size());
  sweep_all(progress);
  std::sort(branches_.begin(), branches_.end());
  std::sort(indirect_jumps_.begin(), indirect_jumps_.end(),
            [](const IndirectJump& a, const IndirectJump& b) { return a.at < b.at; });
  find_jumps_by_thunks();
  std::sort(tables_.begin(), tables_.end(),
            [](const Table& a, const Table& b) { return a.address < b.address; });
  read_tables();
  read_relocations();
  read_symbols();
  read_packed_relocations();
  if (!image.is_relocatable()) read_words();  // any may be an address
  std::sort(words_.begin(), words_.end());
  find_plain_pointers();
  read_address_tables();
  for (const std::int64_t tag : {DT_INIT, DT_FINI}) {
    if (const Address address = image.dynamic(tag)) note_address(address);
  }
  note_address(image.entry());
  describe_functions();
  find_red_zones();
  find_kept_flags();
}

References::Range References::into(Address begin, Address end) const {
  const auto less = [](const Branch& branch, Address address) { return branch.target < address; };
  const auto first = std::lower_bound(branches_.begin(), branches_.end(), begin, less);
  auto last = first;
  while (last != branches_.end() && last->target < end) ++last;
  const Branch* all = branches_.data();
  return {all + (first - branches_.begin()), all + (last - branches_.begin())};
}

References::Range References::to(Address target) const { return into(target, target + 1); }

// Whether code only jumps to where a register tells: a compiler's thunk for indirect jumps.
bool References::is_thunk(Address address) const {
  constexpr int kMostInstructions = 12;
  constexpr Address kNear = 64;
  WrittenReturn written_return;
  Address at = address;
  for (int i = 0; i < kMostInstructions; ++i) {
    Instruction instruction;
    if (!decoder_.decode(at, image_.text_end(), &instruction)) return false;
    if (jumps_by_register(image_, instruction) || written_return.is_used_by(instruction)) {
      return true;
    }
    at = instruction.end();
    const std::uint8_t* code = image_.at(instruction.address, sizeof kEndbr);
    const bool is_barrier = code && (is_lfence(code) || begins_with_endbr(code));
    if (is_barrier || instruction.is_nop || instruction.writes_return) continue;
    // It calls the place behind a loop in which the processor waits.
    if (instruction.kind != Kind::kCall || instruction.target - address > kNear) return false;
    at = instruction.target;
  }
  return false;
}

void References::find_jumps_by_thunks() {
  std::map<Address, bool> known;
  for (const Branch& branch : branches_) {
    if (branch.kind != Kind::kJump && branch.kind != Kind::kBranch) continue;
    Function* from = function_at(functions_, branch.from);
    if (!from || from->contains(branch.target) || !image_.in_text(branch.target)) continue;
    const auto [place, is_new] = known.try_emplace(branch.target, false);
    if (is_new) place->second = is_thunk(branch.target);
    if (place->second) from->jumps_indirectly = from->jumps_oddly = true;
  }
}

std::vector<Address> References::known_places_in(const Function& function) const {
  std::vector<Address> places;
  for (Address at = function.begin + 1; at < function.end; ++at) {
    const Address place = at - image_.text_begin();
    if (known_[place] && starts_[place]) places.push_back(at);
  }
  return places;
}

std::vector<const Function*> References::users_of_places_in(const Function& function) const {
  std::vector<const Function*> users;
  const auto less = [](const Table& table, Address address) { return table.address < address; };
  for (auto at = std::lower_bound(tables_.begin(), tables_.end(), function.begin + 1, less);
       at != tables_.end() && at->address < function.end; ++at) {
    const Function* user = at->user;
    const bool is_part = user == &function || (!user->is_called && !user->is_pointed_at);
    if (is_part && user->jumps_indirectly) users.push_back(user);
  }
  return users;
}

std::vector<IndirectJump> References::indirect_jumps_of(const Function& function) const {
  const auto less = [](const IndirectJump& jump, Address address) { return jump.at < address; };
  const auto at = [&](Address address) {
    return std::lower_bound(indirect_jumps_.begin(), indirect_jumps_.end(), address, less);
  };
  return {at(function.begin), at(function.end)};
}

bool References::is_padding(Address begin, Address end, Zeros zeros) const {
  while (begin < end) {
    const std::uint8_t* byte = image_.at(begin);
    if (!byte) return false;
    if (*byte == 0xcc || *byte == 0x90 || (*byte == 0 && zeros == Zeros::kArePadding)) {
      ++begin;
      continue;
    }
    Instruction instruction;
    if (!decoder_.decode(begin, end, &instruction) || !instruction.is_nop) return false;
    begin = instruction.end();
  }
  return true;
}

// Sweeps functions, and the code between them: code without an unwind entry can jump anywhere too.
void References::sweep_all(void (*progress)(double)) {
  constexpr Address kStep = 1 << 20;
  Address done = image_.text_begin(), told = done;
  const auto text = static_cast<double>(image_.text_end() - image_.text_begin());
  for (Function& function : functions_) {
    if (function.begin > done && !is_padding(done, function.begin, Zeros::kArePadding)) {
      sweep(done, function.begin, nullptr);
    }
    sweep(function.begin, function.end, &function);
    done = std::max(done, function.end);
    if (progress && done - told >= kStep) {
      progress(static_cast<double>(done - image_.text_begin()) / text);
      told = done;
    }
  }
  if (done < image_.text_end() && !is_padding(done, image_.text_end(), Zeros::kArePadding)) {
    sweep(done, image_.text_end(), nullptr);
  }
}

void References::sweep(Address begin, Address end, Function* function) {
  const std::size_t first_branch = branches_.size();
  red_zone_uses_.clear();
  Reliance reliance;
  const Instruction last = sweep_straight(begin, end, function, reliance);
  // Constants between instructions can look like the begin of one. So what follows where a branch
  // leads is read, too, if no instruction seemed to begin there.
  for (std::size_t i = first_branch; i < branches_.size(); ++i) {
    const Address target = branches_[i].target;
    if (target < begin || target >= end || starts_[target - image_.text_begin()]) continue;
    Reliance of_others;
    sweep_straight(target, end, function, of_others);
    if (function && of_others.may_keep_flags()) function->may_keep_flags = true;
  }
  if (!function) return;
  function->relies_on_caller = reliance.relies();
  function->falls_through = !last.ends_flow() && !last.is_call();
  if (reliance.may_keep_flags() || function->falls_through) function->may_keep_flags = true;
  std::sort(red_zone_uses_.begin(), red_zone_uses_.end());
  for (const FrameAt& frame : frames_at(image_, *function, red_zone_uses_)) {
    if (!frame || frame->is_of_a_call()) function->uses_red_zone = true;
  }
  if (!last.ends_flow()) function->is_leaf = false;  // control falls into the next function
}

// Reads one instruction after the other, up to one that was read before. Returns the last one that
// does something. Behind bytes that are none, there may be others, whose targets matter also if the
// function cannot be counted.
Instruction References::sweep_straight(Address begin, Address end, Function* function,
                                       Reliance& reliance) {
  Instruction instruction, last;
  WrittenReturn written_return;
  FlagsOfCalls flags_of_calls(*this);
  Address at = begin;
  while (at < end && !starts_[at - image_.text_begin()]) {
    if (!decoder_.decode(at, end, &instruction)) {
      if (function) function->decodes = false;
      ++at;
      continue;
    }
    ++instructions_;
    splits_stacks_ = splits_stacks_ || compares_with_stack_end(image_, at);
    starts_[at - image_.text_begin()] = true;
    const bool is_direct = instruction.kind == Kind::kCall || instruction.kind == Kind::kJump ||
                           instruction.kind == Kind::kBranch ||
                           instruction.kind == Kind::kUnmovable;
    if (is_direct && instruction.target != 0) {
      branches_.push_back({instruction.target, at, instruction.kind, instruction.length});
    }
    if (function) {
      const bool is_leaving = leaves(instruction, *function);
      reliance.see(instruction, decoder_.below_stack(),
                   instruction.kind == Kind::kReturn || (is_leaving && !instruction.is_call()));
      if (instruction.uses_red_zone) red_zone_uses_.push_back(at);
      if (instruction.kind == Kind::kIndirectJump) {
        function->jumps_indirectly = true;
        indirect_jumps_.push_back({at, instruction.reads_table});
      }
      if (written_return.is_used_by(instruction)) {
        function->jumps_indirectly = function->jumps_oddly = true;
      }
      if (is_leaving) function->is_leaf = false;
    }
    for (const Address mentioned : decoder_.mentioned()) {
      if (!image_.at(mentioned)) continue;
      note_address(mentioned);
      if (!function) continue;
      if (mentioned == function->begin) function->mentions_start = true;
      // Tables are data, which may be in the text.
      tables_.push_back({mentioned, function});
    }
    flags_of_calls.see(instruction);
    if (!instruction.is_nop) last = instruction;
    at = instruction.end();
  }
  return last;
}

// Jump tables: distances from the table's start, or from the function's; without PIE also
// addresses. A function that jumps indirectly may use any data that it mentions as a table; a table
// ends where a distance leads out of the code.
void References::read_tables() {
  for (const Table& table : tables_) {
    if (!table.user->jumps_indirectly) continue;
    read_table<std::int32_t>(table, table.address);
    read_table<std::int64_t>(table, table.address);
    if (table.user->mentions_start) read_table<std::int32_t>(table, table.user->begin);
    if (image_.is_relocatable()) continue;
    read_table<std::int32_t>(table, 0);
    read_table<std::int64_t>(table, 0);
  }
}

template <typename Distance>
void References::read_table(const Table& table, Address base) {
  constexpr int kMostEntries = 4096, kMostOutside = 512;
  bool leads_to_start = false, leads_inside = false;
  for (int i = 0; i < kMostEntries; ++i) {
    Distance distance;
    if (!image_.read(table.address + sizeof distance * static_cast<Address>(i), &distance)) break;
    const Address target = base + static_cast<Address>(std::int64_t{distance});
    if (!image_.in_text(target)) break;
    if (!table.user->contains(target) && (i > kMostOutside || !function_at(functions_, target))) {
      break;
    }
    // Other tables and strings follow a table: a real entry never leads into the middle of an
    // instruction.
    const Function* in = function_at(functions_, target);
    if (in && in->decodes && !starts_[target - image_.text_begin()]) break;
    if (in == table.user) {
      in_own_table_[target - image_.text_begin()] = true;
      (target == in->begin ? leads_to_start : leads_inside) = true;
    } else {
      point(target);
      ways_by_tables_.push_back({table.user, target});
    }
  }
  if (leads_to_start && leads_inside) table.user->has_table_with_start = true;
}

void References::read_relocations() {
  const Address table = image_.dynamic(DT_RELA);
  const Address bytes = image_.dynamic(DT_RELASZ);
  Elf64_Rela relocation;
  for (Address at = 0; table != 0 && at + sizeof relocation <= bytes; at += sizeof relocation) {
    if (!image_.read(table + at, &relocation)) break;
    const Address value =
        static_cast<Address>(relocation.r_addend) + value_of_symbol(ELF64_R_SYM(relocation.r_info));
    note_word(value);
    words_.push_back({relocation.r_offset, value});
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE) continue;
    if (Function* function = function_at(functions_, value)) function->is_resolver = true;
  }
  const Address lazy = image_.dynamic(DT_JMPREL);
  const Address lazy_bytes = image_.dynamic(DT_PLTRELSZ);
  for (Address at = 0; lazy != 0 && at + sizeof relocation <= lazy_bytes; at += sizeof relocation) {
    if (!image_.read(lazy + at, &relocation)) break;
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE) continue;
    const auto value = static_cast<Address>(relocation.r_addend);
    note_address(value);
    if (Function* function = function_at(functions_, value)) function->is_resolver = true;
  }
}

Address References::value_of_symbol(std::uint64_t index) const {
  Elf64_Sym symbol{};
  const Address table = image_.dynamic(DT_SYMTAB);
  if (index != 0 && table != 0) image_.read(table + index * sizeof symbol, &symbol);
  return symbol.st_value;
}

void References::read_symbols() {
  for (const ElfImage::Symbol& symbol : image_.symbols()) {
    if (!image_.in_text(symbol.address)) continue;
    Function* function = function_at(functions_, symbol.address);
    if (symbol.type == STT_FUNC && symbol.size != 0 && !function) {
      unlisted_[symbol.address] = symbol.size;
    }
    if (symbol.type == STT_GNU_IFUNC && function) function->is_resolver = true;
    // Clang's parts have no type.
    if (function && symbol.address == function->begin) {
      if (symbol.is_part) {
        function->is_named_part = true;
      } else if (symbol.type == STT_FUNC) {
        function->is_named = true;
      }
    }
    // A name alone does not prove that a function is called; a name inside a function is another
    // entry.
    if (symbol.is_dynamic || !function || function->begin != symbol.address)
      note_address(symbol.address);
  }
}

// Addresses in the words themselves, of which the file only tells the places (DT_RELR): an even
// number is a place, an odd one a bit for each of the 63 words behind the last place.
void References::read_packed_relocations() {
  constexpr std::int64_t kBytes = 35, kTable = 36;  // DT_RELRSZ, DT_RELR
  constexpr Address kWord = sizeof(Address), kBits = 8 * kWord - 1;
  const Address table = image_.dynamic(kTable), bytes = image_.dynamic(kBytes);
  Address entry, next = 0;
  for (Address at = 0; table != 0 && at + kWord <= bytes && image_.read(table + at, &entry);
       at += kWord) {
    if (entry % 2 == 0) {
      note_packed_word(entry);
      next = entry + kWord;
      continue;
    }
    for (Address i = 0; i < kBits; ++i) {
      if (entry >> (i + 1) & 1) note_packed_word(next + i * kWord);
    }
    next += kBits * kWord;
  }
}

void References::note_packed_word(Address at) {
  Address value;
  if (!image_.read(at, &value)) return;
  note_word(value);
  words_.push_back({at, value});
}

// Words of code, too: some linkers put constants there. Members of packed structures are words at
// odd addresses.
void References::read_words() {
  for (const Elf64_Phdr& part : image_.segments()) {
    Address word;
    for (Address at = (part.p_vaddr + 7) & ~Address{7};
         at + 8 <= part.p_vaddr + part.p_filesz && image_.read(at, &word); ++at) {
      if (!image_.in_text(word)) continue;
      if (at % 8 == 0) {
        note_word(word);
        words_.push_back({at, word});
      } else {
        note_address(word);
      }
    }
  }
}

// A word stands in a table of jumps if the one before or behind it leads into the middle of a
// function that jumps indirectly.
void References::find_plain_pointers() {
  const auto leads_inside = [&](std::size_t i) {
    const Address value = words_[i].value;
    const Function* function = function_at(functions_, value);
    return function && function->jumps_indirectly && function->begin != value &&
           starts_[value - image_.text_begin()];
  };
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!image_.in_text(words_[i].value)) continue;
    const bool is_behind = i > 0 && words_[i - 1].at + 8 == words_[i].at && leads_inside(i - 1);
    const bool is_before =
        i + 1 < words_.size() && words_[i].at + 8 == words_[i + 1].at && leads_inside(i + 1);
    if (!is_behind && !is_before) {
      pointed_plainly_[words_[i].value - image_.text_begin()] = true;
    }
  }
}

// Tables of addresses: if one leads into a function and to its start, the function may jump there.
void References::read_address_tables() {
  for (std::size_t i = 0, end; i < words_.size(); i = end) {
    Function* function = function_at(functions_, words_[i].value);
    bool leads_to_start = false, leads_inside = false;
    for (end = i; end < words_.size() && (end == i || words_[end].at == words_[end - 1].at + 8) &&
                  function && function->contains(words_[end].value);
         ++end) {
      (words_[end].value == function->begin ? leads_to_start : leads_inside) = true;
    }
    end = std::max(end, i + 1);
    if (leads_to_start && leads_inside) function->has_table_with_start = true;
  }
}

// A table ends where a distance leads out of the code; a 0 is an entry that is not used.
std::vector<Address> References::named_by_distances() const {
  constexpr Address kMostEntries = 4096;
  std::vector<Address> named;
  Address last = 0;
  for (const Table& table : tables_) {
    if (table.address == last) continue;
    last = table.address;
    std::int32_t distance;
    for (Address i = 0; i < kMostEntries && image_.read(last + i * 4, &distance); ++i) {
      const Address target = last + static_cast<Address>(std::int64_t{distance});
      if (distance == 0) continue;
      if (!image_.in_text(target)) break;
      named.push_back(target);
    }
  }
  std::sort(named.begin(), named.end());
  return named;
}

void References::describe_functions() {
  for (Function& function : functions_) {
    function.is_pointed_at = is_pointed_at(function.begin) || is_in_own_table(function.begin);
    function.is_only_in_tables =
        function.is_pointed_at && !pointed_plainly_[function.begin - image_.text_begin()];
    for (const Branch& branch : to(function.begin)) {
      if (branch.kind == Kind::kCall) {
        function.is_called = true;
      } else if (function.contains(branch.from)) {
        ++function.jumps_to_itself;
      } else if (branch.kind == Kind::kJump) {
        ++function.jumps_from_others;
      } else {
        ++function.branches_from_others;
      }
    }
  }
  for (std::size_t i = 1; i < functions_.size(); ++i) {
    const Function& before = functions_[i - 1];
    functions_[i].is_fallen_into =
        before.falls_through && is_padding(before.end, functions_[i].begin, Zeros::kAreData);
  }
  // A part of a function jumps back into it.
  for (const Branch& branch : branches_) {
    if (branch.kind == Kind::kCall || !image_.in_text(branch.target)) continue;
    const Function* into = function_at(functions_, branch.target);
    Function* from = function_at(functions_, branch.from);
    if (!into || !from || into == from || into->begin == branch.target) continue;
    const std::uint8_t* stub = image_.at(branch.target, 2);
    const bool is_stub = stub && stub[0] == 0xff && stub[1] == 0x25;
    if (!is_stub) from->jumps_into_others = true;
  }
}

// Follows the jumps from code that uses the red zone: into the middle of another range, which is
// then of the same function, and to the start of a range that may be a part of it.
void References::find_red_zones() {
  const auto finds = [](const Function& from) {
    return from.uses_red_zone || from.may_find_red_zone;
  };
  std::vector<Function*> reached;
  const auto reach = [&](Function* into, Address target) {
    if (!into || into->may_find_red_zone || (into->begin == target && !into->may_be_part())) return;
    into->may_find_red_zone = true;
    reached.push_back(into);
  };
  std::vector<Branch> jumps;
  for (const Branch& branch : branches_) {
    if (branch.kind != Kind::kCall && image_.in_text(branch.target)) jumps.push_back(branch);
  }
  std::sort(jumps.begin(), jumps.end(),
            [](const Branch& a, const Branch& b) { return a.from < b.from; });
  std::sort(ways_by_tables_.begin(), ways_by_tables_.end(),
            [](const Way& a, const Way& b) { return a.from < b.from; });
  const auto follow = [&](Function* from) {
    const auto first = std::lower_bound(
        jumps.begin(), jumps.end(), from->begin,
        [](const Branch& branch, Address address) { return branch.from < address; });
    for (auto jump = first; jump != jumps.end() && jump->from < from->end; ++jump) {
      if (!from->contains(jump->target)) reach(function_at(functions_, jump->target), jump->target);
    }
    Function* const next = from + 1;
    if (next != functions_.data() + functions_.size() && next->is_fallen_into) {
      reach(next, next->begin);
    }
    const auto way =
        std::lower_bound(ways_by_tables_.begin(), ways_by_tables_.end(), from,
                         [](const Way& way, const Function* user) { return way.from < user; });
    for (auto each = way; each != ways_by_tables_.end() && each->from == from; ++each) {
      reach(function_at(functions_, each->to), each->to);
    }
  };
  for (Function& function : functions_) {
    if (finds(function)) follow(&function);
  }
  while (!reached.empty()) {
    Function* next = reached.back();
    reached.pop_back();
    follow(next);
  }
}

// Whether code reads flags before it writes them. Follows jumps, but not calls.
bool References::reads_flags_at(Address address) {
  constexpr int kMostInstructions = 16;
  const auto [place, is_new] = flag_readers_.try_emplace(address, false);
  if (!is_new) return place->second;
  Address at = address;
  std::uint8_t written = 0;
  for (int i = 0; i < kMostInstructions; ++i) {
    Instruction instruction;
    if (!decoder_.decode(at, image_.text_end(), &instruction)) return false;
    if ((instruction.reads_flags & ~written) != 0) return place->second = true;
    written |= instruction.writes_flags;
    const bool is_jump = instruction.kind == Kind::kJump;
    if (written == kAllFlags || (instruction.ends_flow() && !is_jump) || instruction.is_call()) {
      return false;
    }
    at = is_jump ? instruction.target : instruction.end();
  }
  return false;
}

// What must leave its caller's flags alone may have called other functions for a part of its work.
void References::find_kept_flags() {
  bool is_done = true;
  const auto mark = [&](Function* function, Address address) {
    if (!function || function->begin != address || function->leaves_flags) return;
    function->leaves_flags = true;
    is_done = false;
  };
  for (const std::vector<Address>& calls : calls_before_readers_) {
    // From the last: a call that never returns may stand there, and jumps lead behind it.
    for (auto address = calls.rbegin(); address != calls.rend(); ++address) {
      Function* function = function_at(functions_, *address);
      mark(function, *address);
      const bool is_whole = function && function->begin == *address;
      const std::uint8_t* code = image_.at(*address, kStubBytes);
      if ((code && is_stub(code)) || (is_whole && !function->may_keep_flags)) break;
    }
  }
  while (!is_done) {
    is_done = true;
    for (const Branch& branch : branches_) {
      const Function* from = function_at(functions_, branch.from);
      if (from && from->leaves_flags && from->may_keep_flags) {
        mark(function_at(functions_, branch.target), branch.target);
      }
    }
  }
}

}  // namespace fbleprof::rewrite
