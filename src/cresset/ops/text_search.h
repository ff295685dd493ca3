// Searching and comparing texts, in linear time: a program may bring texts for which a search that starts anew at every
// place would take their lengths' product.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace cresset {

/// Looks for one part in texts; the part must outlive it. Two-way search (Crochemore, Perrin 1991): time is linear in
/// text and part, and takes no memory.
class TextSearch {
 public:
  explicit TextSearch(std::string_view part) : part_(part) {}

  /// The first occurrence that begins at `from` or later, npos if there is none.
  size_t first(std::string_view text, size_t from = 0);
  /// The last occurrence.
  size_t last(std::string_view text);

 private:
  /// Where a part is split, so that a mismatch on the right side says how far to go.
  struct Split {
    size_t at = 0, period = 0;
    bool is_known = false;
    bool is_periodic = false;  // the left side repeats with the right side's period
  };
  template <bool kFromEnd>
  static Split splitOf(std::string_view part);
  template <bool kFromEnd>
  size_t find(std::string_view text, Split& split) const;

  std::string_view part_;
  Split forward_, backward_;
};

/// For loops over elements that each take time of their own: looks at the time limit every few megabytes.
void countComparedBytes(size_t bytes);

/// Whether eq() of the two is true as a condition, as Python compares elements of lists.
bool equalTensors(const at::Tensor& a, const at::Tensor& b);
bool equalTexts(const std::string& a, const std::string& b);
bool lessTexts(const std::string& a, const std::string& b);

}  // namespace cresset
