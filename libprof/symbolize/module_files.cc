#include "symbolize/module_files.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>

#include "base/hex.h"
#include "symbolize/debug_file.h"
#include "symbolize/debuginfod.h"

namespace fbleprof::symbolize {
namespace {

// This process's own vDSO. Its image ends with the section headers.
std::optional<ElfObject> own_vdso() {
  const unsigned long address = getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return std::nullopt;
  auto* image = reinterpret_cast<char*>(address);  // NOLINT: the kernel gives a number
  std::size_t size = 0;
  if (image[EI_CLASS] == ELFCLASS64) {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
    size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  } else {
    const auto* header = reinterpret_cast<const Elf32_Ehdr*>(image);
    size = header->e_shoff + std::size_t{header->e_shnum} * header->e_shentsize;
  }
  return ElfObject::from_memory(image, size);
}

// The beginnings of two build-ids, as far as it takes to see the difference.
std::string id_change(const std::string& recorded, const std::string& found) {
  const std::string before = hex(recorded), now = hex(found);
  const auto different = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
  const auto same = static_cast<std::size_t>(different.first - before.begin());
  const std::size_t digits = std::max<std::size_t>(12, same + 2);
  const auto shown = [&](const std::string& id) {
    return id.empty() ? "none" : id.substr(0, digits);
  };
  return fmt::format("build-id {}, now {}", shown(before), shown(now));
}

// Why `object` is not the file that ran, or "".
std::string not_the_same(const ElfObject& object, const ModuleFile& module,
                         const Options& options) {
  if (!module.build_id.empty()) {
    if (object.build_id() == module.build_id) return {};
    return fmt::format("was rebuilt or replaced since the profile was recorded ({})",
                       id_change(module.build_id, object.build_id()));
  }
  if (options.recorded_ns != 0 &&
      object.modified_ns() > static_cast<std::int64_t>(options.recorded_ns)) {
    return "has no build-id and is newer than the profile";
  }
  return {};
}

std::string remedy(const ModuleFile& module) {
  if (module.build_id.empty()) return {};
  return " (put that build back; next time put the names into the profile before you rebuild: "
         "fble-prof-report --pack, or record with fble-prof --names)";
}

// Whether a debug file would add information.
bool lacks_symbols(const ModuleFiles& files, const Options& options) {
  if (!files.object) return true;
  const bool wants_lines = options.lines || options.inlines;
  return files.object->section(".symtab") == nullptr ||
         (wants_lines && files.object->section(".debug_info") == nullptr);
}

}  // namespace

ModuleFiles open_module(const ModuleFile& module, const Options& options) {
  ModuleFiles files;
  std::string& reason = files.reason;
  if (module.is_vdso) {
    files.object = own_vdso();
    // Without a build-id nothing says that this kernel is the one that ran.
    if (files.object && (module.build_id.empty() || files.object->build_id() != module.build_id)) {
      files.object.reset();
    }
    return files;
  }
  OpenError error{};
  files.object = ElfObject::open(module.path, &error);
  if (!files.object) {
    reason = error == OpenError::kMissing        ? "not found"
             : error == OpenError::kNoPermission ? "may not be read"
                                                 : "is no ELF file";
  } else {
    reason = not_the_same(*files.object, module, options);
    if (!reason.empty()) files.object.reset();
  }
  // The debug file of the build that ran is valid even if the program itself is gone.
  const std::string& build_id = files.object ? files.object->build_id() : module.build_id;
  files.debug = debug_file_by_build_id(build_id, options.debug_roots);
  if (!files.debug && files.object) {
    files.debug = debug_file_by_link(*files.object, options.debug_roots);
  }
  if (!files.debug && options.ask_debuginfod && lacks_symbols(files, options)) {
    files.debug = debug_file_by_debuginfod(build_id, [&](long done, long total) {
      if (options.progress == nullptr) return;
      options.progress->update("debug file of " + module.path, static_cast<std::size_t>(done),
                               static_cast<std::size_t>(total));
    });
  }
  if (!files.debug && files.object) files.mini = mini_debug_info(*files.object);
  if (!files.object && !files.debug) {
    files.warning = module.path.empty()
                        ? "a module has no name: its functions are shown as addresses"
                        : fmt::format("{}: {}: its functions are shown as module+0xoffset{}",
                                      module.path, reason, remedy(module));
  }
  return files;
}

}  // namespace fbleprof::symbolize
