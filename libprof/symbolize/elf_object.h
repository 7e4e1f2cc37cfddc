// An ELF file opened for reading, and the facts about it that finding its symbols needs.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fbleprof::symbolize {

// Why a file could not be opened.
enum class OpenError { kMissing, kNoPermission, kNotElf };

// A section of the file. `data` may be null (no bits, or damage).
struct Section {
  Elf_Scn* scn;
  GElf_Shdr header;
  std::string_view name;

  bool is_code() const {
    constexpr std::uint64_t kCode = SHF_ALLOC | SHF_EXECINSTR;
    return (header.sh_flags & kCode) == kCode && header.sh_size != 0;
  }
  // The section's bytes in the file, "" if it has none.
  std::string_view bytes() const;
};

class ElfObject {
 public:
  // Opens a regular file; refuses devices and FIFOs.
  static std::optional<ElfObject> open(const std::string& path, OpenError* error);
  // An image in memory, which must outlive the object (this process's own vDSO).
  static std::optional<ElfObject> from_memory(char* image, std::size_t size);
  // An image that the object keeps.
  static std::optional<ElfObject> from_bytes(std::vector<char> image);

  ElfObject(ElfObject&& other) noexcept;
  ElfObject& operator=(ElfObject&& other) noexcept;
  ~ElfObject();

  Elf* elf() const { return elf_; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  std::int64_t modified_ns() const { return modified_ns_; }
  std::uint16_t machine() const { return machine_; }
  std::uint64_t entry() const { return entry_; }  // where the program starts; 0 = a library

  const std::vector<Section>& sections() const { return sections_; }
  const Section* section(std::string_view name) const;

  // Raw bytes of the note, "" = none.
  const std::string& build_id() const { return build_id_; }

 private:
  ElfObject() = default;
  bool load();

  int fd_ = -1;
  Elf* elf_ = nullptr;
  std::vector<char> image_;
  std::string path_;
  std::int64_t modified_ns_ = 0;
  std::uint16_t machine_ = 0;
  std::uint64_t entry_ = 0;
  std::vector<Section> sections_;
  std::string build_id_;
};

}  // namespace fbleprof::symbolize
