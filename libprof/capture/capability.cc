#include "capture/capability.h"

#include <linux/capability.h>

#include "arch/kernel.h"

namespace fbleprof::capture {

bool has_capability(unsigned number) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  return arch::kernel_call(SYS_capget, reinterpret_cast<long>(&header),
                           reinterpret_cast<long>(data)) == 0 &&
         (data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)) != 0;
}

}  // namespace fbleprof::capture
