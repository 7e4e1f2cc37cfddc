#include "attach/seccomp_program.h"

#include <linux/audit.h>

#include <algorithm>
#include <cstddef>

namespace fbleprof::attach {

namespace {

using Word = std::optional<std::uint32_t>;

constexpr std::size_t word_at(std::size_t offset) { return offset / sizeof(std::uint32_t); }

struct State {
  std::size_t at = 0;
  Word a = 0, x = 0;
  std::array<Word, BPF_MEMWORDS> memory{};
};

Verdict verdict_of(Word returned) {
  if (!returned) return Verdict::kEnds;
  switch (*returned & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
      return Verdict::kAllowed;
    case SECCOMP_RET_ERRNO:
      return Verdict::kFails;
    default:
      return Verdict::kEnds;
  }
}

Word computed(unsigned operation, Word left, Word right) {
  constexpr std::uint32_t kBits = 32;
  if (!left || !right) return std::nullopt;
  switch (operation) {
    case BPF_ADD:
      return *left + *right;
    case BPF_SUB:
      return *left - *right;
    case BPF_MUL:
      return *left * *right;
    case BPF_DIV:
      return *left / *right;
    case BPF_AND:
      return *left & *right;
    case BPF_OR:
      return *left | *right;
    case BPF_XOR:
      return *left ^ *right;
    case BPF_LSH:
      return *right < kBits ? Word(*left << *right) : std::nullopt;
    case BPF_RSH:
      return *right < kBits ? Word(*left >> *right) : std::nullopt;
    default:
      return std::nullopt;
  }
}

// None: it depends on what is not known.
std::optional<bool> holds(unsigned condition, Word left, Word right) {
  if (!left || !right) return std::nullopt;
  switch (condition) {
    case BPF_JEQ:
      return *left == *right;
    case BPF_JGT:
      return *left > *right;
    case BPF_JGE:
      return *left >= *right;
    case BPF_JSET:
      return (*left & *right) != 0;
    default:
      return std::nullopt;
  }
}

// All ways through a filter. Jumps lead forwards only, so each has an end.
class Walk {
 public:
  Walk(const std::vector<sock_filter>& filter, const CallWords& call)
      : filter_(filter), call_(call) {}

  Verdict worst() {
    Verdict worst = Verdict::kAllowed;
    while (!ways_.empty() && worst != Verdict::kEnds) {
      const State way = ways_.back();
      ways_.pop_back();
      worst = std::max(worst, end_of(way));
    }
    return worst;
  }

 private:
  Verdict end_of(State state) {
    constexpr std::size_t kMostSteps = 1 << 16;
    while (state.at < filter_.size() && ++steps_ < kMostSteps) {
      const sock_filter& instruction = filter_[state.at++];
      if (BPF_CLASS(instruction.code) == BPF_RET) {
        return verdict_of(BPF_RVAL(instruction.code) == BPF_A ? state.a : Word(instruction.k));
      }
      if (!does(instruction, state)) break;
    }
    return Verdict::kEnds;
  }

  // False: the kernel knows no such instruction, or ends the filter there.
  bool does(const sock_filter& instruction, State& state) {
    const Word operand = BPF_SRC(instruction.code) == BPF_X ? state.x : Word(instruction.k);
    switch (BPF_CLASS(instruction.code)) {
      case BPF_LD:
        return loads(instruction, state, state.a);
      case BPF_LDX:
        return loads(instruction, state, state.x);
      case BPF_ST:
        return stores(instruction, state, state.a);
      case BPF_STX:
        return stores(instruction, state, state.x);
      case BPF_ALU:
        return computes(instruction, state, operand);
      case BPF_JMP:
        jumps(instruction, state, operand);
        return true;
      default:  // BPF_MISC
        (BPF_MISCOP(instruction.code) == BPF_TXA ? state.a : state.x) =
            BPF_MISCOP(instruction.code) == BPF_TXA ? state.x : state.a;
        return true;
    }
  }

  bool loads(const sock_filter& instruction, const State& state, Word& to) const {
    switch (BPF_MODE(instruction.code)) {
      case BPF_IMM:
        to = instruction.k;
        return true;
      case BPF_LEN:
        to = sizeof(seccomp_data);
        return true;
      case BPF_MEM:
        if (instruction.k >= state.memory.size()) return false;
        to = state.memory[instruction.k];
        return true;
      case BPF_ABS:
        if (instruction.k % sizeof(std::uint32_t) != 0 || word_at(instruction.k) >= call_.size()) {
          return false;
        }
        to = call_[word_at(instruction.k)];
        return true;
      default:
        return false;
    }
  }

  static bool stores(const sock_filter& instruction, State& state, Word value) {
    if (instruction.k >= state.memory.size()) return false;
    state.memory[instruction.k] = value;
    return true;
  }

  static bool computes(const sock_filter& instruction, State& state, Word operand) {
    const unsigned operation = BPF_OP(instruction.code);
    if (operation == BPF_NEG) {
      state.a = computed(BPF_SUB, 0, state.a);
      return true;
    }
    // The kernel takes a division by 0 for the verdict 0, which kills.
    if (operation == BPF_DIV && operand.value_or(0) == 0) return false;
    state.a = computed(operation, state.a, operand);
    return true;
  }

  void jumps(const sock_filter& instruction, State& state, Word operand) {
    if (BPF_OP(instruction.code) == BPF_JA) {
      state.at += instruction.k;
      return;
    }
    const auto is_true = holds(BPF_OP(instruction.code), state.a, operand);
    if (!is_true) {
      ways_.push_back(state);
      ways_.back().at += instruction.jf;
    }
    state.at += is_true.value_or(true) ? instruction.jt : instruction.jf;
  }

  const std::vector<sock_filter>& filter_;
  const CallWords& call_;
  std::vector<State> ways_ = {State{}};
  std::size_t steps_ = 0;
};

}  // namespace

CallWords call_words(long number) {
  CallWords call{};
  call[word_at(offsetof(seccomp_data, nr))] = static_cast<std::uint32_t>(number);
  call[word_at(offsetof(seccomp_data, arch))] = AUDIT_ARCH_X86_64;
  return call;
}

void know_argument(CallWords& call, int index, std::uint64_t value) {
  const std::size_t at =
      word_at(offsetof(seccomp_data, args)) + 2 * static_cast<std::size_t>(index);
  call[at] = static_cast<std::uint32_t>(value);
  call[at + 1] = static_cast<std::uint32_t>(value >> 32);
}

Verdict worst_verdict(const std::vector<sock_filter>& filter, const CallWords& call) {
  return Walk(filter, call).worst();
}

}  // namespace fbleprof::attach
