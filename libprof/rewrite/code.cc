#include "rewrite/code.h"

#include <algorithm>
#include <cstring>

#include "rewrite/hidden_jumps.h"
#include "rewrite/padding.h"
#include "rewrite/reliance.h"

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

// `lea -n(%rsp), %r10; cmp 0x28(%r14), %r10`: OCaml's own stacks, which are pieces of the heap with
// some hundred bytes to spare.
bool compares_with_stack_of_ocaml(const ElfImage& image, Address at) {
  constexpr std::uint8_t kLongLea[] = {0x4c, 0x8d, 0x94, 0x24}, kLea[] = {0x4c, 0x8d, 0x54, 0x24};
  constexpr std::uint8_t kCompare[] = {0x4d, 0x3b, 0x56, 0x28};
  const auto is = [&](Address place, const auto& bytes) {
    const std::uint8_t* code = image.at(place, sizeof bytes);
    return code && std::memcmp(code, bytes, sizeof bytes) == 0;
  };
  return (is(at, kLongLea) && is(at + sizeof kLongLea + 4, kCompare)) ||
         (is(at, kLea) && is(at + sizeof kLea + 1, kCompare));
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

Code::Code(const ElfImage& image, std::vector<Function>& functions, HeldAddresses& held,
           void (*progress)(double))
    : image_(image), held_(held), decoder_(image), kept_flags_(image), starts_(image) {
  read_all(functions, progress);
  std::sort(branches_.begin(), branches_.end());
  std::sort(indirect_jumps_.begin(), indirect_jumps_.end());
  find_jumps_by_thunks(image, branches_, functions);
}

// Also the code between functions: code without an unwind entry can jump anywhere too.
void Code::read_all(std::vector<Function>& functions, void (*progress)(double)) {
  constexpr Address kStep = 1 << 20;
  Address done = image_.text_begin(), told = done;
  const auto text = static_cast<double>(image_.text_end() - image_.text_begin());
  for (Function& function : functions) {
    read_gap(done, function.begin);
    read(function.begin, function.end, &function);
    done = std::max(done, function.end);
    if (progress && done - told >= kStep) {
      progress(static_cast<double>(done - image_.text_begin()) / text);
      told = done;
    }
  }
  read_gap(done, image_.text_end());
}

void Code::read_gap(Address begin, Address end) {
  if (begin < end && !is_padding(image_, decoder_, begin, end, Zeros::kArePadding)) {
    read(begin, end, nullptr);
  }
}

// `function`: null between functions.
void Code::read(Address begin, Address end, Function* function) {
  const std::size_t first_branch = branches_.size();
  red_zone_uses_.clear();
  Reliance reliance;
  const Instruction last = read_straight(begin, end, function, reliance);
  reliance.follow_jumps();
  // Constants between instructions can look like the begin of one. So what follows where a branch
  // leads is read, too, if no instruction seemed to begin there.
  for (std::size_t i = first_branch; i < branches_.size(); ++i) {
    const Address target = branches_[i].target;
    if (target < begin || target >= end || starts_.has(target)) continue;
    Reliance of_others;
    read_straight(target, end, function, of_others);
    of_others.follow_jumps();
    if (function && of_others.may_keep_flags()) function->may_keep_flags = true;
  }
  for (std::size_t i = first_branch; reliance.reads_over_calls() && i < branches_.size(); ++i) {
    if (branches_[i].kind == Kind::kCall) calls_over_memory_.push_back(branches_[i].target);
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
Instruction Code::read_straight(Address begin, Address end, Function* function,
                                Reliance& reliance) {
  Instruction instruction, last;
  WrittenReturn written_return;
  KeptFlags::Calls calls(kept_flags_);
  Address at = begin;
  while (at < end && !starts_.has(at)) {
    if (!decoder_.decode(at, end, &instruction)) {
      if (function) function->decodes = false;
      ++at;
      continue;
    }
    ++instructions_;
    splits_stacks_ = splits_stacks_ || compares_with_stack_end(image_, at) ||
                     compares_with_stack_of_ocaml(image_, at);
    starts_.add(at);
    const bool is_direct = instruction.kind == Kind::kCall || instruction.kind == Kind::kJump ||
                           instruction.kind == Kind::kBranch ||
                           instruction.kind == Kind::kUnmovable;
    if (is_direct && instruction.target != 0) {
      branches_.push_back({instruction.target, at, instruction.kind, instruction.length});
    }
    if (function) {
      note_in_function(instruction, *function, reliance);
      if (written_return.is_used_by(instruction)) {
        function->jumps_indirectly = function->jumps_oddly = true;
      }
    } else {
      reliance.see(instruction, decoder_.below_stack(), false);
    }
    note_mentioned(function);
    calls.see(instruction);
    if (!instruction.is_nop) last = instruction;
    at = instruction.end();
  }
  return last;
}

void Code::note_in_function(const Instruction& instruction, Function& function,
                            Reliance& reliance) {
  const bool is_leaving = leaves(instruction, function);
  reliance.see(instruction, decoder_.below_stack(),
               instruction.kind == Kind::kReturn || (is_leaving && !instruction.is_call()));
  if (instruction.uses_red_zone) red_zone_uses_.push_back(instruction.address);
  if (instruction.kind == Kind::kIndirectJump) {
    function.jumps_indirectly = true;
    indirect_jumps_.push_back({instruction.address, instruction.reads_table});
  }
  if (is_leaving) function.is_leaf = false;
}

void Code::note_mentioned(Function* function) {
  for (const Address mentioned : decoder_.mentioned()) {
    if (!image_.at(mentioned)) continue;
    held_.note_address(mentioned);
    if (!function) continue;
    if (mentioned == function->begin) function->mentions_start = true;
    mentions_.push_back({mentioned, function});
  }
}

}  // namespace fbleprof::rewrite
