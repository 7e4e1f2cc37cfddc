#include "capture/attached_filter.h"

#include "capture/filters.h"
#include "capture/modules.h"
#include "capture/profile.h"

namespace fbleprof::capture {

using format::ExactModule;
using format::ExactOrder;
using format::Module;
using format::put_text;

void name_unfiltered(ExactOrder& order) {
  note_unloading();
  add_mapped_modules();
  put_text(order.filter, profile.settings.filter.c_str());
  order.count = 0;
  for_each_loaded_module([&](const Module& module) {
    static Path path;
    if (order.count == format::kMostExactModules || !lacks_table(module)) return;
    ExactModule& named = order.modules[order.count];
    named = {};
    named.begin = module.begin;
    if (put_text(named.path, path_of(module, path))) ++order.count;
  });
}

void filter(ExactOrder& order) {
  for (std::uint32_t i = 0; i < order.count; ++i) {
    const ExactModule& with = order.modules[i];
    const Module* module = loaded_module_at(with.begin);
    if (!module || !lacks_table(*module)) continue;
    if (!filter_by(*module, reinterpret_cast<const char*>(with.plan), with.plan_bytes)) {
      remark_not_filtered(*module);
    }
  }
}

}  // namespace fbleprof::capture
