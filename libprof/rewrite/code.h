// Everything that the instructions of a file show, of functions and of the code between them.
#pragma once

#include <utility>
#include <vector>

#include "rewrite/branch.h"
#include "rewrite/held_addresses.h"
#include "rewrite/jump_tables.h"
#include "rewrite/kept_flags.h"

namespace fbleprof::rewrite {

class Reliance;

class Code {
 public:
  // Reads all of it, and sets the facts about `functions` that it shows by itself. Notes in `held`
  // the addresses that instructions hold. Calls `progress` after each megabyte of code, with a
  // share from 0 to 1; `progress` may be null.
  Code(const ElfImage& image, std::vector<Function>& functions, HeldAddresses& held,
       void (*progress)(double));

  const std::vector<Branch>& branches() const { return branches_; }                    // in order
  const std::vector<IndirectJump>& indirect_jumps() const { return indirect_jumps_; }  // in order
  // Where instructions begin.
  const TextMarks& starts() const { return starts_; }
  const KeptFlags& kept_flags() const { return kept_flags_; }
  // What is called by code that keeps memory below the stack pointer over calls.
  const std::vector<Address>& calls_over_memory() const { return calls_over_memory_; }
  std::uint32_t instructions() const { return instructions_; }
  // Whether functions compare the stack pointer with the end of their stack (-fsplit-stack). They
  // call each other with 3.5 kB of stack left, and libgcc's functions behind them with less.
  bool splits_stacks() const { return splits_stacks_; }
  // The addresses that functions mention. Takes them away.
  std::vector<Mention> take_mentions() { return std::move(mentions_); }

 private:
  void read_all(std::vector<Function>& functions, void (*progress)(double));
  void read_gap(Address begin, Address end);
  void read(Address begin, Address end, Function* function);
  Instruction read_straight(Address begin, Address end, Function* function, Reliance& reliance);
  void note_in_function(const Instruction& instruction, Function& function, Reliance& reliance);
  void note_mentioned(Function* function);

  const ElfImage& image_;
  HeldAddresses& held_;
  Decoder decoder_;
  KeptFlags kept_flags_;
  std::vector<Branch> branches_;
  std::vector<IndirectJump> indirect_jumps_;  // of functions
  std::vector<Mention> mentions_;
  std::vector<Address> red_zone_uses_;  // of the function that is being read
  std::vector<Address> calls_over_memory_;
  TextMarks starts_;
  std::uint32_t instructions_ = 0;
  bool splits_stacks_ = false;
};

}  // namespace fbleprof::rewrite
