// See suggest.h.
#include "cresset/support/suggest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cresset {

size_t editDistance(std::string_view a, std::string_view b, size_t limit) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > limit) return limit + 1;
  // Three rows of the table of distances between beginnings of a and of b.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    // What is further from the diagonal has more distance than the limit.
    const size_t from = i > limit ? i - limit : 1;
    const size_t to = std::min(i + limit, b.size());
    row[from - 1] = from == 1 ? i : limit + 1;
    if (to < b.size()) row[to + 1] = limit + 1;
    for (size_t j = from; j <= to; ++j) {
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return std::min(row[b.size()], limit + 1);
}

std::string similarName(std::string_view name, std::span<const std::string> candidates) {
  // Of a short name every other short one is like it.
  const size_t limit = std::min<size_t>(2, (name.size() + 1) / 3);
  const std::string* best = nullptr;
  size_t least = limit + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = candidate == name ? least : editDistance(name, candidate, limit);
    if (distance >= least) continue;
    best = &candidate;
    least = distance;
  }
  return best ? *best : "";
}

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  const std::string similar = similarName(name, candidates);
  return similar.empty() ? "" : "; did you mean '" + similar + "'?";
}

}  // namespace cresset
