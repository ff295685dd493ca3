// What nodes on autograd's tape do beyond autograd's own interface.
#pragma once

#include <vector>

namespace cresset {

/// A node of the tape that stands for several operators: freeing what it keeps depends on which gradients have gone
/// through it.
class PartlyReleased {
 public:
  virtual ~PartlyReleased() = default;
  /// As if gradients had come in by `incoming` and had been asked for by `wanted`, one flag per input and output.
  virtual void releaseFor(const std::vector<bool>& incoming, const std::vector<bool>& wanted) = 0;
};

}  // namespace cresset
