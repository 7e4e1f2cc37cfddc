// Handlers of faults in the first instructions of functions: they see where the instruction stands,
// throw exceptions, repair the cause, or go on at the next instruction. Those of breakpoints go on.
//
// Usage: exact_faults [EARLY LATE]: waits for the file EARLY before it sets the handler, and for
// LATE after that.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

extern "C" {
int load(const int* from);
int load_behind_branch(int loads, const int* from);
int divide(int zero);
int breakpoint(int kept);
extern const char load_at[], load_behind_branch_at[], divide_at[], behind_breakpoint[];
}

asm(R"(
        .text
        .include "function.inc"
FUNCTION load
        .globl  load_at
load_at:
        mov     (%rdi), %eax
        inc     %eax
        ret
END load
FUNCTION load_behind_branch
        test    %edi, %edi
        je      1f
        .globl  load_behind_branch_at
load_behind_branch_at:
        mov     (%rsi), %eax
        inc     %eax
        ret
1:      xor     %eax, %eax
        ret
END load_behind_branch
FUNCTION divide
        xor     %edx, %edx
        .globl  divide_at
divide_at:
        div     %edi
        mov     $7, %eax
        ret
END divide
FUNCTION breakpoint
        mov     %edi, %eax
        inc     %eax
        int3
        .globl  behind_breakpoint
behind_breakpoint:
        ret
END breakpoint
)");

namespace {

constexpr std::size_t kPage = 4096;

enum class Way { kRepair, kSkip, kThrow } way;
int* page;
int faults, elsewhere;

struct Fault {};

void on_fault(int number, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto pc = static_cast<std::uintptr_t>(registers[REG_RIP]);
  ++faults;
  if (info->si_addr == page && pc != reinterpret_cast<std::uintptr_t>(load_at) &&
      pc != reinterpret_cast<std::uintptr_t>(load_behind_branch_at)) {
    ++elsewhere;
  }
  switch (way) {
    case Way::kRepair:
      mprotect(page, kPage, PROT_READ);
      break;
    case Way::kSkip:
      registers[REG_RIP] += 2;
      registers[REG_RAX] = 50;
      break;
    case Way::kThrow: {
      sigset_t set;
      sigemptyset(&set);
      sigaddset(&set, number);
      sigprocmask(SIG_UNBLOCK, &set, nullptr);
      throw Fault();
    }
  }
}

void on_division(int, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  ++faults;
  if (info->si_addr != divide_at) ++elsewhere;
  registers[REG_RIP] += 2;
}

void on_breakpoint(int, siginfo_t*, void* context) {
  const auto pc = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  ++faults;
  if (pc != reinterpret_cast<greg_t>(behind_breakpoint)) ++elsewhere;
}

__attribute__((noinline)) int caught(bool is_behind_branch) {
  mprotect(page, kPage, PROT_NONE);
  try {
    return (is_behind_branch ? load_behind_branch(1, page) : load(page)) + 1;
  } catch (const Fault&) {
    return 1000;
  }
}

}  // namespace

// Calls itself until the stack ends. It reads `from`, so the compiler knows that it may fault.
__attribute__((noinline)) int deep(int depth, const volatile int* from) {
  return depth < 0 ? *from : deep(depth + 1, from) + *from;
}
void* overflow(void*) {
  static char other_stack[1 << 16];
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  try {
    deep(0, &faults);
  } catch (const Fault&) {
    std::puts("the stack ended");
  }
  return nullptr;
}

void wait_for(const char* file) {
  while (file && access(file, F_OK) != 0) usleep(10000);
}

int main(int count, char** arguments) {
  wait_for(count > 2 ? arguments[1] : nullptr);
  page = static_cast<int*>(mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = on_division;
  sigaction(SIGFPE, &action, nullptr);
  action.sa_sigaction = on_breakpoint;
  sigaction(SIGTRAP, &action, nullptr);
  if (count > 2) {
    std::puts("ready");
    std::fflush(stdout);
    wait_for(arguments[2]);
  }
  std::int64_t sum = 0;
  for (int i = 0; i < 300; ++i) {
    way = static_cast<Way>(i % 3);
    sum = (sum * 3 + caught(false) + caught(true) + load_behind_branch(0, page) + divide(0) +
           breakpoint(i)) %
          1000003;
  }
  way = Way::kThrow;
  for (int i = 0; i < 20; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(100 + i) * 1000 / 16 * 16);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, overflow, nullptr) != 0) return 1;
    pthread_join(thread, nullptr);
  }
  std::printf("%ld, %d faults, %d of them elsewhere\n", static_cast<long>(sum), faults, elsewhere);
  return 0;
}
