// Everything in a file that leads to an address of its code, or may lead there: direct branches,
// addresses in instructions, jump tables, relocations, symbols.
#pragma once

#include "rewrite/code.h"
#include "rewrite/padding.h"

namespace fbleprof::rewrite {

class References {
 public:
  // Reads the whole file, and sets the facts about `functions`. Calls `progress` after each
  // megabyte of code, with a share from 0 to 1; `progress` may be null.
  References(const ElfImage& image, std::vector<Function>& functions, void (*progress)(double));

  const Code& code() const { return code_; }
  const JumpTables& tables() const { return tables_; }
  const HeldAddresses& held() const { return held_; }

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
  // Whether something leads there, other than a jump table of the function there.
  bool is_target(Address address) const { return held_.is_led_to(address) || !to(address).empty(); }
  bool is_padding(Address begin, Address end, Zeros zeros) const {
    return rewrite::is_padding(image_, decoder_, begin, end, zeros);
  }

 private:
  void describe(std::vector<Function>& functions);

  const ElfImage& image_;
  mutable Decoder decoder_;
  HeldAddresses held_;
  Code code_;
  JumpTables tables_;
};

}  // namespace fbleprof::rewrite
