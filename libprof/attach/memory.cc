#include "attach/memory.h"

#include <sys/uio.h>

#include <cerrno>

namespace fbleprof::attach {

namespace {

bool is_whole(ssize_t copied, std::size_t bytes) {
  if (copied == static_cast<ssize_t>(bytes)) return true;
  if (copied >= 0) errno = EFAULT;
  return false;
}

}  // namespace

bool read_memory(pid_t pid, std::uint64_t from, void* to, std::size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
  return is_whole(process_vm_readv(pid, &local, 1, &remote, 1, 0), bytes);
}

bool write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t bytes) {
  const iovec local{const_cast<void*>(from), bytes}, remote{reinterpret_cast<void*>(to), bytes};
  return is_whole(process_vm_writev(pid, &local, 1, &remote, 1, 0), bytes);
}

}  // namespace fbleprof::attach
