// Functions whose callers may read the processor's flags that they leave.
//
// Most functions leave flags of their own, which nothing reads. But a compiler that moves what many
// functions have in common into one of its own (LLVM's machine outliner) may do so between two
// instructions of which the second reads the flags that the first wrote.
#pragma once

#include <unordered_map>
#include <vector>

#include "rewrite/branch.h"
#include "rewrite/functions.h"

namespace fbleprof::rewrite {

class KeptFlags {
 public:
  explicit KeptFlags(const ElfImage& image) : image_(image), decoder_(image) {}

  // Reads instructions in order, and notes those calls whose flags one may read: the calls since
  // the last instruction that writes flags.
  class Calls {
   public:
    explicit Calls(KeptFlags& kept) : kept_(kept) {}
    void see(const Instruction& instruction);

   private:
    KeptFlags& kept_;
    std::vector<Address> called_;
    std::uint8_t written_ = 0;  // since the last call
  };

  // Sets `leaves_flags` of functions. `branches`: of the whole file.
  void mark(std::vector<Function>& functions, const std::vector<Branch>& branches) const;

 private:
  bool reads_flags_at(Address address);

  const ElfImage& image_;
  Decoder decoder_;
  std::vector<std::vector<Address>> calls_before_readers_;  // each in order
  std::unordered_map<Address, bool> readers_;               // what reads_flags_at found
};

}  // namespace fbleprof::rewrite
