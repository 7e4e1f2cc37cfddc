// Decides for each function whether and how its calls can be counted, and writes the plan.
//
// A function's start may be overwritten only if nothing but the function's own first instruction
// ever runs there, and if the instructions work in another place. Any doubt is a reason to refuse.
#pragma once

#include <map>
#include <string>

#include "rewrite/references.h"

namespace fbleprof::rewrite {

class Entries {
 public:
  Entries(const ElfImage& image, std::vector<Function>& functions, const References& references);

  // The plan's bytes.
  std::string plan() const;

 private:
  // The first instructions of a function, which a jump replaces.
  struct Window {
    const Function* function;
    Address begin;
    Address resume;  // the first instruction that stays
    std::vector<Instruction> instructions;
  };

  // A function that another one enters by tail calls.
  struct TailCall {
    const Function *to, *from;

    bool operator<(const TailCall& other) const {
      return to != other.to ? to < other.to : from < other.from;
    }
  };

  bool is_no_function(Function& function, const std::uint8_t* code);
  void choose(Function& function, Address limit);
  plan::Reason read_window(const Function& function, Address limit, Window& window) const;
  void choose_calls(Function& function, bool is_named_by_distances);
  void find_tail_calls(const Function& function);
  Address direct_at(const Branch& branch) const;
  bool is_site(const Branch& branch, const Function& function) const;
  bool is_displaced(Address address) const;
  bool has_probe(Address begin, Address end) const;
  std::map<Address, std::uint64_t> unlisted() const;

  plan::Trampoline with_window(const Window& window) const;
  plan::Trampoline without_window(const Function& function) const;
  plan::Trampoline for_tail_calls(const TailCall& call, const plan::Trampoline* numbered) const;
  std::uint32_t number_of_called(const Function* function) const;
  std::uint32_t number_of(const Function* function) const;
  std::uint32_t number_of(const TailCall& call) const;
  std::uint32_t number_for(const Branch& branch, const Function& function) const;

  const ElfImage& image_;
  std::vector<Function>& functions_;
  const References& references_;
  std::vector<Address> probes_;  // in order
  mutable Decoder decoder_;
  std::vector<Window> windows_;          // in order of address
  std::vector<const Function*> called_;  // those counted by their calls; numbered after windows_
  std::vector<TailCall> tail_calls_;     // in order; numbered after called_
};

}  // namespace fbleprof::rewrite
