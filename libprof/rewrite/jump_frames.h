// Whether indirect jumps can lead to a place in a function, by the frames that the unwind table
// gives: where a jump leads, the frame is where it was.
#pragma once

#include <vector>

#include "rewrite/functions.h"
#include "rewrite/references.h"

namespace fbleprof::rewrite {

// Of the indirect jumps in one function and in parts of it elsewhere.
class JumpFrames {
 public:
  JumpFrames(const ElfImage& image, const References& references, std::vector<Function>& functions,
             const Function& function);

  // Whether one can lead there, if a table that we know names the place.
  bool may_lead_by_table(Address place) const;
  // Whether one can lead there by a distance from a place whose address something holds. Compilers
  // let each such jump lead to each such place, so the frame is the same at both.
  bool may_lead_by_distance(Address place) const;

 private:
  // Of addresses in a function. Unknown frames equal any.
  struct Frames {
    std::vector<FramePlace> known;
    bool has_unknown = false;

    void add(const FrameAt& frame);
    bool may_be(const FramePlace& frame) const;
  };

  const ElfImage& image_;
  const Function& function_;
  bool has_jumps_ = false, jumps_oddly_ = false, has_known_places_ = false;
  Frames jumps_, jumps_without_table_, known_places_;
};

}  // namespace fbleprof::rewrite
