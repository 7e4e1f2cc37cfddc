// Tables of jumps: distances from the table's start, or from the function's; without PIE also
// addresses.
#pragma once

#include <vector>

#include "rewrite/held_addresses.h"

namespace fbleprof::rewrite {

// An address that code of a function mentions. If data is there, which may be in the text, the
// function may use it as a table.
struct Mention {
  Address address;
  Function* user;

  bool operator<(const Mention& other) const { return address < other.address; }
};

// From a function to the start of another range that is listed as one.
struct Way {
  Function* from;
  Address to;

  bool operator<(const Way& other) const { return from < other.from; }
};

class JumpTables {
 public:
  // Reads the tables of functions that jump indirectly, and notes in `held` where they lead.
  // `starts`: where instructions begin.
  JumpTables(const ElfImage& image, std::vector<Mention> mentions, std::vector<Function>& functions,
             const TextMarks& starts, HeldAddresses& held);

  // Whether a table of the function there leads there, or what looks like one.
  bool is_in_own_table(Address address) const { return in_own_table_.has(address); }
  // Out of the functions that use the tables, in order of these.
  const std::vector<Way>& ways_out() const { return ways_out_; }
  // The function, and parts of it elsewhere, if they jump indirectly and hold the address of a
  // place in it other than its start: by a table that we cannot read, they may jump to any distance
  // from there.
  std::vector<const Function*> users_of_places_in(const Function& function) const;
  // The starts of code that tables of distances name whose address code holds, in order: relative
  // vtables, for instance.
  std::vector<Address> named_by_distances() const;

 private:
  template <typename Distance>
  void read(const Mention& table, Address base, std::vector<Function>& functions,
            const TextMarks& starts, HeldAddresses& held);

  const ElfImage& image_;
  std::vector<Mention> mentions_;  // in order
  TextMarks in_own_table_;
  std::vector<Way> ways_out_;
};

}  // namespace fbleprof::rewrite
