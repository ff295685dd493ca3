// Searching and comparing texts: see text_search.h.
#include "cresset/ops/text_search.h"

#include <ATen/ops/eq_ops.h>

#include <algorithm>
#include <utility>

#include "cresset/ops/limits.h"

namespace cresset {

namespace {

template <bool kFromEnd>
char at(std::string_view text, size_t i) {
  return text[kFromEnd ? text.size() - 1 - i : i];
}

/// Where the greatest suffix begins, by one order of characters or its reverse, and its period.
template <bool kFromEnd>
std::pair<size_t, size_t> greatestSuffix(std::string_view part, bool reversed_order) {
  size_t begin = 0, candidate = 1, length = 0, period = 1;
  while (candidate + length < part.size()) {
    const auto a = static_cast<unsigned char>(at<kFromEnd>(part, candidate + length));
    const auto b = static_cast<unsigned char>(at<kFromEnd>(part, begin + length));
    if (a == b) {
      if (++length == period) {
        candidate += period;
        length = 0;
      }
    } else if (reversed_order ? a > b : a < b) {  // the candidate is smaller: its characters belong to the period
      candidate += length + 1;
      length = 0;
      period = candidate - begin;
    } else {
      begin = candidate++;
      length = 0;
      period = 1;
    }
  }
  return {begin, period};
}

}  // namespace

template <bool kFromEnd>
TextSearch::Split TextSearch::splitOf(std::string_view part) {
  const auto [at_place, period] = std::max(greatestSuffix<kFromEnd>(part, false), greatestSuffix<kFromEnd>(part, true));
  Split split{.at = at_place, .period = period, .is_known = true, .is_periodic = true};
  for (size_t i = 0; i < split.at && split.is_periodic; ++i)
    split.is_periodic = at<kFromEnd>(part, i) == at<kFromEnd>(part, i + period);
  if (!split.is_periodic) split.period = std::max(split.at, part.size() - split.at) + 1;
  return split;
}

template <bool kFromEnd>
size_t TextSearch::find(std::string_view text, Split& split) const {
  const size_t size = part_.size();
  if (size == 0) return 0;
  if (size > text.size()) return std::string_view::npos;
  if (!split.is_known) split = splitOf<kFromEnd>(part_);
  const auto matches = [&](size_t place, size_t i) { return at<kFromEnd>(part_, i) == at<kFromEnd>(text, place + i); };
  size_t known = 0;  // how many characters at the beginning match already
  for (size_t place = 0; place + size <= text.size();) {
    size_t i = std::max(split.at, known);
    while (i < size && matches(place, i)) ++i;
    if (i < size) {
      place += i - split.at + 1;
      known = 0;
      continue;
    }
    i = split.at;
    while (i > known && matches(place, i - 1)) --i;
    if (i <= known) return place;
    place += split.period;
    known = split.is_periodic ? size - split.period : 0;
  }
  return std::string_view::npos;
}

size_t TextSearch::first(std::string_view text, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  const size_t found = find<false>(text.substr(from), forward_);
  return found == std::string_view::npos ? found : found + from;
}

size_t TextSearch::last(std::string_view text) {
  const size_t found = find<true>(text, backward_);
  return found == std::string_view::npos ? found : text.size() - part_.size() - found;
}

void countComparedBytes(size_t bytes) {
  constexpr size_t kBetweenLooks = size_t(1) << 22, kEach = 16;
  static constinit thread_local size_t compared = 0;
  compared += std::min(bytes, kBetweenLooks) + kEach;
  if (compared < kBetweenLooks) return;
  compared = 0;
  checkTimeLimit();
}

bool equalTensors(const at::Tensor& a, const at::Tensor& b) {
  constexpr size_t kCall = 4096;  // an operator takes the time of so many bytes
  countComparedBytes(kCall + (a.defined() ? static_cast<size_t>(a.numel()) : 0));
  return at::_ops::eq_Tensor::call(a, b).is_nonzero();
}

bool equalTexts(const std::string& a, const std::string& b) {
  if (&a == &b) return true;
  if (a.size() != b.size()) return false;
  countComparedBytes(a.size());
  return a == b;
}

bool lessTexts(const std::string& a, const std::string& b) {
  if (&a == &b) return false;
  countComparedBytes(std::min(a.size(), b.size()));
  return a < b;
}

}  // namespace cresset
