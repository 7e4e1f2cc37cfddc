#include "rewrite/held_addresses.h"

#include <algorithm>

#include "arch/hook_sections.h"
#include "rewrite/decoder.h"

namespace fbleprof::rewrite {

void HeldAddresses::read_file(std::vector<Function>& functions, const TextMarks& starts) {
  find_hook_sections();
  read_relocations(functions);
  read_symbols(functions);
  read_packed_relocations();
  if (!image_.is_relocatable()) read_words();  // any may be an address
  std::sort(words_.begin(), words_.end());
  find_words_outside_tables(functions, starts);
  read_address_tables(functions);
  for (const std::int64_t tag : {DT_INIT, DT_FINI}) {
    if (const Address address = image_.dynamic(tag)) note_address(address);
  }
  note_address(image_.entry());
}

void HeldAddresses::find_hook_sections() {
  for (const arch::HookSection& kind : arch::kHookSections) {
    for (const Elf64_Shdr& section : image_.sections(kind.name)) hook_sections_.push_back(section);
  }
}

bool HeldAddresses::is_in_hook_section(Address at) const {
  return std::any_of(hook_sections_.begin(), hook_sections_.end(), [at](const Elf64_Shdr& section) {
    return at >= section.sh_addr && at - section.sh_addr < section.sh_size;
  });
}

// The room may be behind an endbr64. Who reads the list puts hooks there, and leads no control
// there: the word is about the function.
Address HeldAddresses::begin_of_function_with_room(Address room) const {
  const std::uint8_t* before = image_.at(room - sizeof kEndbr, sizeof kEndbr);
  return before && begins_with_endbr(before) ? room - sizeof kEndbr : room;
}

void HeldAddresses::read_relocations(std::vector<Function>& functions) {
  const Address table = image_.dynamic(DT_RELA);
  const Address bytes = image_.dynamic(DT_RELASZ);
  Elf64_Rela relocation;
  for (Address at = 0; table != 0 && at + sizeof relocation <= bytes; at += sizeof relocation) {
    if (!image_.read(table + at, &relocation)) break;
    const Address value =
        static_cast<Address>(relocation.r_addend) + value_of_symbol(ELF64_R_SYM(relocation.r_info));
    note_word_at(relocation.r_offset, value);
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE) continue;
    if (Function* function = function_at(functions, value)) function->is_resolver = true;
  }
  const Address lazy = image_.dynamic(DT_JMPREL);
  const Address lazy_bytes = image_.dynamic(DT_PLTRELSZ);
  for (Address at = 0; lazy != 0 && at + sizeof relocation <= lazy_bytes; at += sizeof relocation) {
    if (!image_.read(lazy + at, &relocation)) break;
    if (ELF64_R_TYPE(relocation.r_info) != R_X86_64_IRELATIVE) continue;
    const auto value = static_cast<Address>(relocation.r_addend);
    note_address(value);
    if (Function* function = function_at(functions, value)) function->is_resolver = true;
  }
}

Address HeldAddresses::value_of_symbol(std::uint64_t index) const {
  Elf64_Sym symbol{};
  const Address table = image_.dynamic(DT_SYMTAB);
  if (index != 0 && table != 0) image_.read(table + index * sizeof symbol, &symbol);
  return symbol.st_value;
}

void HeldAddresses::read_symbols(std::vector<Function>& functions) {
  for (const ElfImage::Symbol& symbol : image_.symbols()) {
    if (!image_.in_text(symbol.address)) continue;
    Function* function = function_at(functions, symbol.address);
    if (symbol.type == STT_FUNC && symbol.size != 0 && !function) {
      unlisted_[symbol.address] = std::min(symbol.size, image_.text_end() - symbol.address);
    }
    if (symbol.type == STT_GNU_IFUNC && function) function->is_resolver = true;
    // Clang's parts have no type.
    if (function && symbol.address == function->begin) {
      if (symbol.is_part) {
        function->is_named_part = true;
      } else if (symbol.type == STT_FUNC) {
        function->is_named = true;
      }
    }
    // A name alone does not prove that a function is called; a name inside a function is another
    // entry.
    if (symbol.is_dynamic || !function || function->begin != symbol.address)
      note_address(symbol.address);
  }
}

// Addresses in the words themselves, of which the file only tells the places (DT_RELR): an even
// number is a place, an odd one a bit for each of the 63 words behind the last place.
void HeldAddresses::read_packed_relocations() {
  constexpr std::int64_t kBytes = 35, kTable = 36;  // DT_RELRSZ, DT_RELR
  constexpr Address kWord = sizeof(Address), kBits = 8 * kWord - 1;
  const Address table = image_.dynamic(kTable), bytes = image_.dynamic(kBytes);
  Address entry, next = 0;
  for (Address at = 0; table != 0 && at + kWord <= bytes && image_.read(table + at, &entry);
       at += kWord) {
    if (entry % 2 == 0) {
      read_packed_word(entry);
      next = entry + kWord;
      continue;
    }
    for (Address i = 0; i < kBits; ++i) {
      if (entry >> (i + 1) & 1) read_packed_word(next + i * kWord);
    }
    next += kBits * kWord;
  }
}

void HeldAddresses::read_packed_word(Address at) {
  Address value;
  if (image_.read(at, &value)) note_word_at(at, value);
}

// Words of code, too: some linkers put constants there. Members of packed structures are words at
// odd addresses.
void HeldAddresses::read_words() {
  for (const Elf64_Phdr& part : image_.segments()) {
    Address word;
    for (Address at = (part.p_vaddr + 7) & ~Address{7};
         at + 8 <= part.p_vaddr + part.p_filesz && image_.read(at, &word); ++at) {
      if (!image_.in_text(word)) continue;
      if (at % 8 == 0) {
        note_word_at(at, word);
      } else {
        note_address(word);
      }
    }
  }
}

// A word stands in a table of jumps if the one before or behind it leads into the middle of a
// function that jumps indirectly.
void HeldAddresses::find_words_outside_tables(std::vector<Function>& functions,
                                              const TextMarks& starts) {
  const auto leads_inside = [&](std::size_t i) {
    const Address value = words_[i].value;
    const Function* function = function_at(functions, value);
    return function && function->jumps_indirectly && function->begin != value && starts.has(value);
  };
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (!image_.in_text(words_[i].value)) continue;
    const bool is_behind = i > 0 && words_[i - 1].at + 8 == words_[i].at && leads_inside(i - 1);
    const bool is_before =
        i + 1 < words_.size() && words_[i].at + 8 == words_[i + 1].at && leads_inside(i + 1);
    if (!is_behind && !is_before) held_outside_tables_.add(words_[i].value);
  }
}

// Tables of addresses: if one leads into a function and to its start, the function may jump there.
void HeldAddresses::read_address_tables(std::vector<Function>& functions) {
  for (std::size_t i = 0, end; i < words_.size(); i = end) {
    Function* function = function_at(functions, words_[i].value);
    bool leads_to_start = false, leads_inside = false;
    for (end = i; end < words_.size() && (end == i || words_[end].at == words_[end - 1].at + 8) &&
                  function && function->contains(words_[end].value);
         ++end) {
      (words_[end].value == function->begin ? leads_to_start : leads_inside) = true;
    }
    end = std::max(end, i + 1);
    if (leads_to_start && leads_inside) function->has_table_with_start = true;
  }
}

}  // namespace fbleprof::rewrite
