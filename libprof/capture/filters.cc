#include "capture/filters.h"

#include "arch/kernel.h"
#include "capture/found_threads.h"
#include "capture/glob.h"
#include "capture/kernel_file.h"
#include "capture/modules.h"
#include "capture/plans.h"
#include "capture/profile.h"
#include "plan/left_out_table.h"
#include "signal_safe/session.h"

namespace fbleprof::capture {

using arch::kernel_call;
using arch::kernel_failed;
using format::Module;
using plan::LeftOutBoundary;
using plan::LeftOutHeader;
using signal_safe::LeftOut;
using signal_safe::session;

namespace {

constexpr char kSeparator = ';';

static_assert(sizeof(LeftOutBoundary) == sizeof(LeftOut::Boundary));

void unmap_table(const LeftOutHeader* header, std::uint64_t size) {
  kernel_call(SYS_munmap, reinterpret_cast<long>(header), static_cast<long>(size));
}

const LeftOutHeader* map_table(const char* path, std::uint64_t* size) {
  const File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat status;
  if (!file || !file.read_status(&status) || !is_trusted(status)) return nullptr;
  *size = static_cast<std::uint64_t>(status.st_size);
  if (*size == 0) return nullptr;
  const long at =
      kernel_call(SYS_mmap, 0, static_cast<long>(*size), PROT_READ, MAP_PRIVATE, file.fd(), 0);
  if (kernel_failed(at)) return nullptr;
  const auto* header = reinterpret_cast<const LeftOutHeader*>(at);
  if (plan::is_whole(*header, *size)) return header;
  unmap_table(header, *size);
  return nullptr;
}

// Whether there is a table at the path, and the files with the names are those that it was made of.
bool is_up_to_date(const char* path) {
  std::uint64_t size = 0;
  const LeftOutHeader* header = map_table(path, &size);
  if (!header) return false;
  std::uint64_t stamp = 0;
  const char* const end = plan::paths_of(*header) + header->paths_bytes;
  for (const char* file = plan::paths_of(*header); file != end;
       file += __builtin_strlen(file) + 1) {
    struct stat status;
    const bool exists = kernel_path_call(SYS_stat, file, reinterpret_cast<long>(&status)) == 0;
    stamp = plan::add_to_stamp(stamp, exists ? &status : nullptr);
  }
  const bool is_same = stamp == header->stamp;
  unmap_table(header, size);
  return is_same;
}

// Whether the newest table for this place says the same: the module was loaded before.
bool is_known(const LeftOut::Table& table) {
  const LeftOut::Table* known = session.code_map.left_out().newest_at(table.begin);
  return known && known->end == table.end && known->load_bias == table.load_bias &&
         known->count == table.count && known->first_is_out == table.first_is_out &&
         __builtin_memcmp(known->boundaries, table.boundaries,
                          table.count * sizeof(LeftOut::Boundary)) == 0;
}

LeftOut::Table table_for(const Module& module, const LeftOutHeader& header) {
  return {module.begin,     module.end,
          module.load_bias, reinterpret_cast<const LeftOut::Boundary*>(&header + 1),
          header.count,     header.first_is_out != 0};
}

bool add_table(const Module& module, const char* path) {
  std::uint64_t size = 0;
  const LeftOutHeader* header = map_table(path, &size);
  if (!header) return false;
  const LeftOut::Table table = table_for(module, *header);
  // It stays mapped for good: code of the module can be met at any time.
  if (!is_known(table)) return session.code_map.left_out().add(table);
  unmap_table(header, size);
  return true;
}

Path table_path(const Module& module) {
  return plan_path(profile.settings.filter_tables.c_str(), module, ".left");
}

bool has_file(const Module& module) {
  return module.path != 0 && (module.flags & format::kModuleIsVdso) == 0 && !is_recorder(module);
}

void order_missing_tables() {
  const Settings& settings = profile.settings;
  PlanOrder order(settings.filter_tool.c_str(), "--left-out", settings.filter.c_str());
  for_each_new_module([&](const Module& module) {
    static Path path, table;
    if (!has_file(module)) return;
    path_of(module, path);
    table = table_path(module);
    if (!table.empty() && !is_up_to_date(table.c_str())) order.add(table, path);
  });
}

// Whether one pattern of the filter names the function.
bool names(const char* pattern, const char* name, const char* file) {
  constexpr char kFile[] = "file:";
  if (__builtin_strncmp(pattern, "module:", 7) == 0 || __builtin_strncmp(pattern, "re:", 3) == 0) {
    return false;
  }
  if (__builtin_strncmp(pattern, kFile, sizeof kFile - 1) != 0) {
    return glob_match(pattern, kSeparator, name);
  }
  const char* path = pattern + sizeof kFile - 1;
  return glob_match(path, kSeparator, file) || glob_match(path, kSeparator, name_in_path(file));
}

}  // namespace

bool has_filter_tool() {
  const Settings& settings = profile.settings;
  return !settings.filter.empty() && !settings.filter_tool.empty() &&
         !settings.filter_tables.empty();
}

void filter_new_modules() {
  if (profile.settings.filter.empty()) return;
  const bool has_tool = has_filter_tool();
  if (!has_tool && !are_threads_found()) {
    static bool is_told = false;
    if (!is_told) remark("FBLEPROF_FILTER has no effect without fble-prof, which reads names");
    is_told = true;
    return;
  }
  if (has_tool) order_missing_tables();
  for_each_new_module([has_tool](Module& module) {
    if (!has_file(module)) return;
    if (!has_tool || !add_table(module, table_path(module).c_str())) remark_not_filtered(module);
  });
}

bool lacks_table(const Module& module) {
  if (profile.settings.filter.empty() || !has_file(module)) return false;
  const LeftOut::Table* known = session.code_map.left_out().newest_at(module.begin);
  return !known || known->end != module.end || known->load_bias != module.load_bias;
}

bool filter_by(const Module& module, const char* table, std::uint64_t size) {
  const auto* header = reinterpret_cast<const LeftOutHeader*>(table);
  return header && plan::is_whole(*header, size) &&
         session.code_map.left_out().add(table_for(module, *header));
}

void remark_not_filtered(const Module& module) {
  static Path path;
  remark(Text<600>{"not filtered: "}.add(path_of(module, path)).c_str());
}

bool leaves_out(const char* name, const char* file) {
  const char* filter = profile.settings.filter.c_str();
  if (!*filter || profile.settings.filter_tool.empty()) return false;
  bool is_out = *filter != '!';
  for (const char* at = filter; *at;) {
    const bool is_not = *at == '!';
    if (names(at + (is_not ? 1 : 0), name ? name : "", file ? file : "")) is_out = is_not;
    while (*at && *at != kSeparator) ++at;
    if (*at) ++at;
  }
  return is_out;
}

}  // namespace fbleprof::capture
