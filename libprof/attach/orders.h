// Orders for the recorder in a running program (format/recorder_order.h), which a borrowed thread
// of that program obeys.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "attach/borrowed_thread.h"
#include "base/result.h"
#include "format/recorder_order.h"

namespace fbleprof::attach {

using OrderPointer = std::unique_ptr<format::RecorderOrder>;

OrderPointer order_for(format::OrderStep step);

// Gives the order to the recorder; afterwards it holds the answer. False: the recorder cannot obey
// now, for example because another thread unloads a library.
Result<bool> obey(pid_t pid, const std::string& library, BorrowedThread& thread,
                  format::RecorderOrder& order);
Result<bool> obey_in_any_thread(pid_t pid, const std::string& library,
                                format::RecorderOrder& order);

// Puts bytes for the module into the process's memory, where they stay.
void hand_over(BorrowedThread& thread, const std::string& bytes, format::OrderModule& module);

// Tries until it is done, or fails.
Status insist(pid_t pid, const std::function<Result<bool>()>& attempt);

// The same with an order for each round, until its modules are not as many as an order holds.
Status insist_in_rounds(pid_t pid, format::OrderStep step,
                        const std::function<Result<bool>(format::RecorderOrder& order)>& attempt);

}  // namespace fbleprof::attach
