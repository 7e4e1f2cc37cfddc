#include "capture/attached_filter.h"

#include "capture/filters.h"
#include "capture/modules.h"
#include "capture/profile.h"

namespace fbleprof::capture {

using format::Module;
using format::OrderModule;
using format::put_text;
using format::RecorderOrder;

void name_unfiltered(RecorderOrder& order) {
  note_unloading(Unloaded::kAll);
  add_mapped_modules();
  put_text(order.filter, profile.settings.filter.c_str());
  order.count = 0;
  for (const Module* module = next_loaded_module(order.after);
       module && order.count < format::kMostOrderModules;
       module = next_loaded_module(module->begin)) {
    static Path path;
    if (!lacks_table(*module)) continue;
    OrderModule& named = order.modules[order.count];
    named = {};
    named.begin = module->begin;
    if (!put_text(named.path, path_of(*module, path))) {
      remark_not_filtered(*module);
      continue;
    }
    ++order.count;
  }
}

void filter(RecorderOrder& order) {
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const OrderModule& with = order.modules[i];
    const Module* module = loaded_module_at(with.begin);
    if (!module || !lacks_table(*module)) continue;
    if (!filter_by(*module, reinterpret_cast<const char*>(with.given), with.given_bytes)) {
      remark_not_filtered(*module);
    }
  }
}

}  // namespace fbleprof::capture
