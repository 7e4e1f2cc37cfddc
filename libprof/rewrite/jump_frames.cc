#include "rewrite/jump_frames.h"

#include <algorithm>

namespace fbleprof::rewrite {

void JumpFrames::Frames::add(const FrameAt& frame) {
  if (!frame) {
    has_unknown = true;
  } else if (std::find(known.begin(), known.end(), *frame) == known.end()) {
    known.push_back(*frame);
  }
}

bool JumpFrames::Frames::may_be(const FramePlace& frame) const {
  return has_unknown || std::find(known.begin(), known.end(), frame) != known.end();
}

JumpFrames::JumpFrames(const ElfImage& image, const References& references,
                       std::vector<Function>& functions, const Function& function)
    : image_(image), function_(function) {
  std::vector<const Function*> jumping = references.tables().users_of_places_in(function);
  has_jumps_ = function.jumps_indirectly || !jumping.empty();
  if (!has_jumps_) return;
  jumping.push_back(&function);
  for (const Branch& branch : references.into(function.begin + 1, function.end)) {
    const Function* from = function_at(functions, branch.from);
    if (from && from != jumping.back()) jumping.push_back(from);
  }
  for (const Function* from : jumping) {
    jumps_oddly_ = jumps_oddly_ || from->jumps_oddly;
    const std::vector<IndirectJump> jumps = references.indirect_jumps_of(*from);
    std::vector<Address> places;
    for (const IndirectJump& jump : jumps) places.push_back(jump.at);
    const std::vector<FrameAt> frames = frames_at(image, *from, places);
    for (std::size_t i = 0; i < jumps.size(); ++i) {
      jumps_.add(frames[i]);
      if (!jumps[i].reads_table) jumps_without_table_.add(frames[i]);
    }
  }
  const std::vector<Address> places = references.known_places_in(function);
  has_known_places_ = !places.empty();
  for (const FrameAt& frame : frames_at(image, function, places)) known_places_.add(frame);
}

bool JumpFrames::may_lead_by_table(Address place) const {
  if (!has_jumps_) return false;
  const FrameAt frame = frame_at(image_, function_, place);
  return jumps_oddly_ || !frame || jumps_.may_be(*frame);
}

bool JumpFrames::may_lead_by_distance(Address place) const {
  if (!has_jumps_ || !has_known_places_) return false;
  const FrameAt frame = frame_at(image_, function_, place);
  if (jumps_oddly_ || !frame || known_places_.has_unknown) return true;
  return known_places_.may_be(*frame) && jumps_without_table_.may_be(*frame);
}

}  // namespace fbleprof::rewrite
