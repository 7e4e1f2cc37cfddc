// Orders for the recorder in a running program (format/exact_order.h), which a borrowed thread of
// that program obeys.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "attach/borrowed_thread.h"
#include "base/result.h"
#include "format/exact_order.h"

namespace fbleprof::attach {

using OrderPointer = std::unique_ptr<format::ExactOrder>;

OrderPointer order_for(format::ExactStep step);

// Gives the order to the recorder; afterwards it holds the answer. False: the recorder cannot obey
// now, for example because another thread unloads a library.
Result<bool> obey(pid_t pid, const std::string& library, BorrowedThread& thread,
                  format::ExactOrder& order);
Result<bool> obey_in_any_thread(pid_t pid, const std::string& library, format::ExactOrder& order);

// Puts bytes for the module into the process's memory, where they stay.
void hand_over(BorrowedThread& thread, const std::string& bytes, format::ExactModule& module);

// Tries until it is done, or fails.
Status insist(pid_t pid, const std::function<Result<bool>()>& attempt);

}  // namespace fbleprof::attach
