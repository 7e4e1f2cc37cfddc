#include "symbolize/elf_object.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace fbleprof::symbolize {
namespace {

// The build-id among a section's notes; "" = none. libdwelf does not read the last note of a
// section unless its length is a multiple of four, and linkers write build-ids of any length.
std::string_view build_id_among(const Section& section) {
  const std::string_view notes = section.bytes();
  const std::size_t align = section.header.sh_addralign == 8 ? 8 : 4;
  const auto padded = [&](std::size_t size) { return (size + align - 1) / align * align; };
  GElf_Nhdr note;
  for (std::size_t at = 0; at <= notes.size() && notes.size() - at >= sizeof note;) {
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note, id = name + padded(note.n_namesz);
    if (id > notes.size() || note.n_descsz > notes.size() - id) return {};
    if (note.n_type == NT_GNU_BUILD_ID &&
        notes.substr(name, note.n_namesz) == std::string_view(ELF_NOTE_GNU, sizeof ELF_NOTE_GNU)) {
      return notes.substr(id, note.n_descsz);
    }
    at = id + padded(note.n_descsz);
  }
  return {};
}

}  // namespace

std::optional<ElfObject> ElfObject::open(const std::string& path, OpenError* error) {
  ElfObject object;
  object.path_ = path;
  object.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (object.fd_ < 0) {
    *error = errno == EACCES || errno == EPERM ? OpenError::kNoPermission : OpenError::kMissing;
    return std::nullopt;
  }
  struct stat status {};
  *error = OpenError::kNotElf;
  if (fstat(object.fd_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  object.modified_ns_ = status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec;
  elf_version(EV_CURRENT);
  object.elf_ = elf_begin(object.fd_, ELF_C_READ_MMAP, nullptr);
  if (!object.load()) return std::nullopt;
  return object;
}

std::optional<ElfObject> ElfObject::from_memory(char* image, std::size_t size) {
  ElfObject object;
  elf_version(EV_CURRENT);
  object.elf_ = elf_memory(image, size);
  if (!object.load()) return std::nullopt;
  return object;
}

std::optional<ElfObject> ElfObject::from_bytes(std::vector<char> image) {
  ElfObject object;
  elf_version(EV_CURRENT);
  object.image_ = std::move(image);
  object.elf_ = elf_memory(object.image_.data(), object.image_.size());
  if (!object.load()) return std::nullopt;
  return object;
}

bool ElfObject::load() {
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF) return false;
  GElf_Ehdr header;
  if (gelf_getehdr(elf_, &header) == nullptr) return false;
  machine_ = header.e_machine;
  entry_ = header.e_entry;
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) == 0) {
    for (Elf_Scn* scn = elf_nextscn(elf_, nullptr); scn != nullptr; scn = elf_nextscn(elf_, scn)) {
      Section section{scn, {}, {}};
      if (gelf_getshdr(scn, &section.header) == nullptr) continue;
      if (const char* name = elf_strptr(elf_, names, section.header.sh_name)) section.name = name;
      sections_.push_back(section);
    }
  }
  const void* id = nullptr;
  const ssize_t length = dwelf_elf_gnu_build_id(elf_, &id);
  if (length > 0) build_id_.assign(static_cast<const char*>(id), static_cast<std::size_t>(length));
  for (const Section& section : sections_) {
    if (build_id_.empty() && section.header.sh_type == SHT_NOTE)
      build_id_ = build_id_among(section);
  }
  return true;
}

ElfObject::ElfObject(ElfObject&& other) noexcept { *this = std::move(other); }

ElfObject& ElfObject::operator=(ElfObject&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(elf_, other.elf_);
  std::swap(image_, other.image_);
  std::swap(path_, other.path_);
  std::swap(modified_ns_, other.modified_ns_);
  std::swap(machine_, other.machine_);
  std::swap(entry_, other.entry_);
  std::swap(sections_, other.sections_);
  std::swap(build_id_, other.build_id_);
  return *this;
}

ElfObject::~ElfObject() {
  if (elf_ != nullptr) elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

const Section* ElfObject::section(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::string_view Section::bytes() const {
  if (header.sh_type == SHT_NOBITS) return {};
  const Elf_Data* data = elf_rawdata(scn, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const char*>(data->d_buf), data->d_size};
}

}  // namespace fbleprof::symbolize
