#include "capture/api.h"

#include "capture/attached.h"
#include "capture/attached_orders.h"
#include "capture/control.h"
#include "capture/found_threads.h"
#include "capture/kept_snapshots.h"
#include "capture/profile.h"
#include "capture/text_changes.h"
#include "capture/threads.h"
#include "signal_safe/loaded_objects.h"
#include "signal_safe/session.h"

using namespace fbleprof;  // NOLINT: the functions below are C's
using signal_safe::session;

void fbleprof_start() {
  if (capture::is_profiling() && !session.recording.load()) capture::start_recording();
}

void fbleprof_stop() {
  if (capture::is_profiling() && session.recording.load()) capture::stop_recording();
}

void fbleprof_flush() { capture::charge_rest_of_this_thread(); }

int fbleprof_snapshot(const char* name) { return capture::take_snapshot(name ? name : ""); }

int fbleprof_reset() { return capture::count_anew(); }

FBLEPROF_EXPORT constinit const char* const fbleprof_output_path =
    capture::profile.output.name.path.c_str();

FBLEPROF_EXPORT constinit const format::TextState* const fbleprof_text_state = &capture::text_state;

long fbleprof_start_attached(format::AttachOrder* order) {
  capture::start_attached_again(*order);
  return kNoSystemCall;
}

long fbleprof_obey_order(format::RecorderOrder* order) {
  capture::obey_order(*order);
  return kNoSystemCall;
}

long fbleprof_obey() {
  capture::abandon_truncated_profile();
  if (!capture::is_profiling() || !session.obey) return kNoSystemCall;
  session.obey();
  if (capture::are_threads_found() && session.recording.load()) capture::attach_borrowed_thread();
  return kNoSystemCall;
}

int fbleprof_is_enabled() {
  return capture::is_profiling() && session.recording.load() && fbleprof_hot.top ? 1 : 0;
}

void fbleprof_adapter_code(const void* address) {
  signal_safe::LoadedObject adapter;
  if (signal_safe::find_object(reinterpret_cast<std::uint64_t>(address), &adapter)) {
    session.adapters.add(adapter.begin, adapter.end);
  }
}

FBLEPROF_EXPORT const struct fbleprof_api fbleprof_api_table = {
    FBLEPROF_API_VERSION,    sizeof(struct fbleprof_api),
    fbleprof_block_new,      fbleprof_enter,
    fbleprof_leave,          fbleprof_replace,
    fbleprof_tick,           fbleprof_start,
    fbleprof_stop,           fbleprof_flush,
    fbleprof_is_enabled,     fbleprof_context_new,
    fbleprof_context_switch, fbleprof_context_free,
    fbleprof_query,          fbleprof_leave_newest,
    fbleprof_replace_below,  fbleprof_enter_from,
    fbleprof_enter_all,      fbleprof_redo,
    fbleprof_mark,           fbleprof_rewind,
    fbleprof_tick_counter,   fbleprof_context_current,
    fbleprof_context_reset,  fbleprof_block_add,
    fbleprof_block_of_key,   fbleprof_block_with_key,
    fbleprof_block_rename,   fbleprof_query_pair,
    fbleprof_profile_new,    fbleprof_profile_with,
    fbleprof_profile_write,  fbleprof_profile_free,
    fbleprof_read_stack,     fbleprof_peek,
    fbleprof_snapshot,       fbleprof_reset,
};
