#include "tests/unit/attach/traced_child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "attach/tracee.h"
#include "control/process.h"

namespace fbleprof::attach::test {

namespace {

std::atomic<bool> is_told{false};
void tell(int) { is_told.store(true); }

}  // namespace

TracedChild::TracedChild(const std::function<int()>& work)
    : works_(static_cast<bool*>(
          mmap(nullptr, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
  pid_ = fork();
  if (pid_ != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGTERM, tell);
  __atomic_store_n(works_, true, __ATOMIC_RELEASE);
  _exit(work());
}

void TracedChild::wait_for_work() const {
  while (!__atomic_load_n(works_, __ATOMIC_ACQUIRE)) usleep(100);
}

TracedChild::~TracedChild() {
  munmap(works_, sizeof *works_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, __WALL);
}

bool TracedChild::computes_at(const void* address) const {
  for (int i = 0; i < 5000; ++i) {
    const auto thread = Tracee::stop(pid_, pid_);
    if (thread && arch::pc_of(thread->registers()) == reinterpret_cast<std::uint64_t>(address)) {
      return true;
    }
    usleep(1000);  // on a busy machine it would hardly run between two stops that are close
  }
  return false;
}

bool TracedChild::waits_in(long system_call) const {
  for (int i = 0; i < 5000; ++i) {
    long number = -1;
    std::ifstream("/proc/" + std::to_string(pid_) + "/syscall") >> number;
    if (number == system_call) return true;
    usleep(1000);
  }
  return false;
}

bool TracedChild::is_in_state(char state) const {
  for (int i = 0; i < 5000; ++i) {
    if (control::status_field(pid_, "State").rfind(state, 0) == 0) return true;
    usleep(1000);
  }
  return false;
}

int TracedChild::end() {
  kill(pid_, SIGTERM);
  int status = 0;
  while (waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status)) {
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int sleep_until_told() {
  // In pieces: the signal may come just before a sleep.
  while (!is_told.load()) {
    const timespec moment{1, 0};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &moment, nullptr);
  }
  return 0;
}

std::uint8_t* code_memory(std::size_t bytes) {
  void* at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(at);
}

bool may_trace() {
  const TracedChild child(sleep_until_told);
  return Tracee::stop(child.pid(), child.pid()).ok();
}

}  // namespace fbleprof::attach::test
