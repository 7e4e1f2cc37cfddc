// The addresses of a file's code that something in the file holds: instructions, relocations,
// symbols, and, without PIE, data. Data that looks like an address counts as an address.
#pragma once

#include <map>
#include <vector>

#include "rewrite/functions.h"
#include "rewrite/text_marks.h"

namespace fbleprof::rewrite {

class HeldAddresses {
 public:
  explicit HeldAddresses(const ElfImage& image)
      : image_(image), led_to_(image), held_(image), held_outside_tables_(image) {}

  // A distance leads there.
  void note_distance(Address address) { led_to_.add(address); }
  void note_address(Address address) {
    note_word(address);
    held_outside_tables_.add(address);
  }
  // Notes what the file holds outside of its instructions, and what its symbols say of `functions`.
  // `starts`: where instructions begin.
  void read_file(std::vector<Function>& functions, const TextMarks& starts);

  // Whether something other than a direct branch leads there.
  bool is_led_to(Address address) const { return led_to_.has(address); }
  // Whether code or data hold the address itself, not only a distance.
  bool is_held(Address address) const { return held_.has(address); }
  // The same, but for words that stand in tables of jumps.
  bool is_held_outside_tables(Address address) const { return held_outside_tables_.has(address); }

  // Functions by their symbols that the unwind table does not list: address and size, in order.
  const std::map<Address, std::uint64_t>& unlisted() const { return unlisted_; }

 private:
  // A word of data, at an address, that holds an address of the code.
  struct Word {
    Address at, value;
    bool operator<(const Word& other) const { return at < other.at; }
  };
  // The same as note_address for a word that may be in a table of jumps.
  void note_word(Address address) {
    led_to_.add(address);
    held_.add(address);
  }
  void note_word_at(Address at, Address value) {
    if (is_in_hook_section(at)) value = begin_of_function_with_room(value);
    note_word(value);
    words_.push_back({at, value});
  }
  void find_hook_sections();
  bool is_in_hook_section(Address at) const;
  Address begin_of_function_with_room(Address room) const;
  Address value_of_symbol(std::uint64_t index) const;
  void read_relocations(std::vector<Function>& functions);
  void read_symbols(std::vector<Function>& functions);
  void read_packed_relocations();
  void read_packed_word(Address at);
  void read_words();
  void find_words_outside_tables(std::vector<Function>& functions, const TextMarks& starts);
  void read_address_tables(std::vector<Function>& functions);

  const ElfImage& image_;
  TextMarks led_to_, held_, held_outside_tables_;
  std::vector<Word> words_;
  std::vector<Elf64_Shdr> hook_sections_;  // they list functions with room for hooks
  std::map<Address, std::uint64_t> unlisted_;
};

}  // namespace fbleprof::rewrite
