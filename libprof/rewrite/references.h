// Everything in a file that leads to an address of its code, or may lead there: direct branches,
// addresses in instructions, jump tables, relocations, symbols. Data that looks like an address
// counts as an address.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "rewrite/decoder.h"
#include "rewrite/functions.h"

namespace fbleprof::rewrite {

struct Branch {
  Address target, from;
  Instruction::Kind kind;  // kCall, kJump, kBranch or kUnmovable
  std::uint8_t length;

  bool operator<(const Branch& other) const {
    return target != other.target ? target < other.target : from < other.from;
  }
};

struct IndirectJump {
  Address at;
  bool reads_table;  // its target is in a table at a fixed place
};

class References {
 public:
  // Reads the whole file, and sets the facts about `functions` that its code shows. Calls
  // `progress` after each megabyte of code, with a share from 0 to 1; `progress` may be null.
  References(const ElfImage& image, std::vector<Function>& functions, void (*progress)(double));

  // Whether functions compare the stack pointer with the end of their stack (-fsplit-stack). They
  // call each other with 3.5 kB of stack left, and libgcc's functions behind them with less.
  bool splits_stacks() const { return splits_stacks_; }

  // The direct branches to an address, in order.
  struct Range {
    const Branch* first;
    const Branch* last;
    const Branch* begin() const { return first; }
    const Branch* end() const { return last; }
    bool empty() const { return first == last; }
  };
  Range to(Address target) const;
  // The direct branches to addresses between `begin` and `end`, in order of the target.
  Range into(Address begin, Address end) const;
  // The indirect jumps of a function, in order.
  std::vector<IndirectJump> indirect_jumps_of(const Function& function) const;
  // The instructions in the function, but the first, whose addresses code or data hold.
  std::vector<Address> known_places_in(const Function& function) const;
  // The function, and parts of it elsewhere, if they jump indirectly and hold the address of a
  // place in it other than its start: by a table that we cannot read, they may jump to any distance
  // from there.
  std::vector<const Function*> users_of_places_in(const Function& function) const;
  // Whether something other than a direct branch leads there.
  bool is_pointed_at(Address address) const {
    return image_.in_text(address) && pointed_[address - image_.text_begin()];
  }
  // Whether a jump table of the function there leads there, or what looks like one.
  bool is_in_own_table(Address address) const {
    return image_.in_text(address) && in_own_table_[address - image_.text_begin()];
  }
  // Whether anything else leads there.
  bool is_target(Address address) const { return is_pointed_at(address) || !to(address).empty(); }
  // Whether [begin, end) is padding as compilers and linkers put between functions. Zeros can also
  // be constants.
  enum class Zeros { kArePadding, kAreData };
  bool is_padding(Address begin, Address end, Zeros zeros) const;

  // The starts of code that tables of distances name whose address code holds, in order: relative
  // vtables, for instance.
  std::vector<Address> named_by_distances() const;

  // Functions by their symbols that the unwind table does not list: address and size, in order.
  const std::map<Address, std::uint64_t>& unlisted() const { return unlisted_; }

  std::uint32_t instructions() const { return instructions_; }

 private:
  struct Table {
    Address address;
    Function* user;
  };
  // A word of data, at an address, that holds an address of the code.
  struct Word {
    Address at, value;
    bool operator<(const Word& other) const { return at < other.at; }
  };
  // From a function to the start of another range that is listed as one.
  struct Way {
    Function* from;
    Address to;
  };
  void point(Address address) {
    if (image_.in_text(address)) pointed_[address - image_.text_begin()] = true;
  }
  void note_address(Address address) {
    note_word(address);
    if (image_.in_text(address)) pointed_plainly_[address - image_.text_begin()] = true;
  }
  // The same for a word that may be in a table of jumps.
  void note_word(Address address) {
    point(address);
    if (image_.in_text(address)) known_[address - image_.text_begin()] = true;
  }
  bool is_thunk(Address address) const;
  void find_jumps_by_thunks();
  void sweep_all(void (*progress)(double));
  class Reliance;
  class FlagsOfCalls;
  void sweep(Address begin, Address end, Function* function);
  Instruction sweep_straight(Address begin, Address end, Function* function, Reliance& reliance);
  void read_tables();
  template <typename Distance>
  void read_table(const Table& table, Address base);
  Address value_of_symbol(std::uint64_t index) const;
  void read_relocations();
  void read_symbols();
  void read_words();
  void read_packed_relocations();
  void note_packed_word(Address at);
  void find_plain_pointers();
  void read_address_tables();
  void describe_functions();
  void find_red_zones();
  bool reads_flags_at(Address address);
  void find_kept_flags();

  const ElfImage& image_;
  std::vector<Function>& functions_;
  mutable Decoder decoder_;
  std::vector<Branch> branches_;
  std::vector<IndirectJump> indirect_jumps_;  // of functions, in order
  std::vector<Address> red_zone_uses_;        // of the function that is being read
  std::vector<bool> pointed_;
  std::vector<bool> known_;  // addresses that code or data hold, not only distances
  std::vector<bool> in_own_table_;
  // Addresses that code or data hold, but for words that stand in tables of jumps.
  std::vector<bool> pointed_plainly_;
  std::vector<Way> ways_by_tables_;  // by tables of distances, out of their users
  std::vector<bool> starts_;         // where instructions begin
  std::vector<Table> tables_;        // in order of the address
  std::vector<Word> words_;
  std::map<Address, std::uint64_t> unlisted_;
  // Calls since the last instruction that writes flags, in order, before one that reads them.
  std::vector<std::vector<Address>> calls_before_readers_;
  std::unordered_map<Address, bool> flag_readers_;  // what reads_flags_at found
  std::uint32_t instructions_ = 0;
  bool splits_stacks_ = false;
};

}  // namespace fbleprof::rewrite
