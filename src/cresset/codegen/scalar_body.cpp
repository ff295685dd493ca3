#include "cresset/codegen/scalar_body.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "cresset/analysis/fact_rule.h"
#include "cresset/codegen/scalar_evaluation.h"
#include "cresset/ops/expression.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"

namespace cresset::codegen {

struct ScalarBody::Impl {
  ExpressionList list;
  std::optional<FactRule> computes_in;
  std::vector<Contraction> contractions;
  std::vector<Broadcast> broadcasts;
  std::vector<Expression> reduces;  // along which dimensions, whether they are kept; empty if it does not reduce
};

/// "bcx+u" as "bxcu": what the result has, then what is summed over.
static std::string lettersOfWindows(const std::string& letters, const std::string& result) {
  std::string kept, summed;
  for (const char letter : letters) {
    if (letter != '+') (result.find(letter) != std::string::npos ? kept : summed) += letter;
  }
  return kept + summed;
}

/// "self mk, mat2 kn, result mn"; several with "; " between them
static std::vector<Contraction> parseContractions(std::string_view text) {
  std::vector<Contraction> contractions;
  std::istringstream alternatives{std::string(text)};
  for (std::string alternative; std::getline(alternatives, alternative, ';');) {
    Contraction contraction;
    std::istringstream words(alternative);
    std::string name, letters;
    while (words >> name >> letters) {
      if (letters.ends_with(',')) letters.pop_back();
      if (name == "result") {
        contraction.result = letters;
      } else {
        contraction.operands.emplace_back(name, letters);
      }
    }
    for (auto& [operand, own] : contraction.operands) {
      const auto sums = static_cast<size_t>(std::count(own.begin(), own.end(), '+'));
      if (sums == 0) continue;
      contraction.windowed = operand;
      contraction.num_window_dims = sums;
      own = lettersOfWindows(own, contraction.result);
    }
    contraction.is_for_groups = contraction.result.find('g') != std::string::npos;
    CRESSET_CHECK(!contraction.operands.empty(), "CONTRACTS names operands, their indices and those of the result");
    contractions.push_back(std::move(contraction));
  }
  return contractions;
}

/// "input nc*, weight c"
static std::vector<Broadcast> parseBroadcasts(std::string_view text) {
  std::vector<Broadcast> broadcasts;
  std::istringstream words{std::string(text)};
  std::string name, letters;
  while (words >> name >> letters) {
    if (letters.ends_with(',')) letters.pop_back();
    broadcasts.push_back({name, letters});
  }
  return broadcasts;
}

bool ScalarBody::broadcasts() const {
  return !impl_->broadcasts.empty();
}

bool ScalarBody::isWhole(std::string_view operand) const {
  return broadcasts() && impl_->broadcasts[0].operand == operand;
}

std::optional<std::vector<size_t>> ScalarBody::dimensionsOf(
    std::string_view operand, size_t rank, size_t whole_rank) const {
  const auto found = std::ranges::find(impl_->broadcasts, operand, &Broadcast::operand);
  if (found == impl_->broadcasts.end()) return std::vector<size_t>();
  const std::string& whole = impl_->broadcasts[0].letters;
  std::vector<size_t> dims;
  for (const char letter : found->letters) {
    const size_t place = whole.find(letter);
    CRESSET_CHECK(place != std::string::npos, "BROADCASTS names a dimension that the first operand has not");
    if (letter != '*') {
      dims.push_back(place);
    } else {
      for (size_t d = place; d < whole_rank; ++d) dims.push_back(d);
    }
  }
  if (dims.size() != rank || std::ranges::any_of(dims, [&](size_t d) { return d >= whole_rank; })) return std::nullopt;
  if (found == impl_->broadcasts.begin()) dims.clear();  // all of them
  return dims;
}

std::string Contraction::summed() const {
  std::string summed;
  for (const char letter : operands[1].second) {
    if (letter != '*' && sums(letter)) summed += letter;
  }
  return summed;
}

std::string_view Contraction::lettersOf(std::string_view operand) const {
  for (const auto& [name, letters] : operands) {
    if (name == operand) return letters;
  }
  return "";
}

const ScalarBody* ScalarBody::of(const Operator& op) {
  static const auto* bodies = [] {
    auto* map = new std::unordered_map<std::string_view, ScalarBody>;
    for (const OperatorRow& row : operatorRows()) {
      if (row.scalar.empty()) continue;
      auto impl = std::make_shared<Impl>();
      impl->list = parseExpressions(row.scalar);
      if (!row.contracts.empty()) impl->contractions = parseContractions(row.contracts);
      if (!row.broadcasts.empty()) impl->broadcasts = parseBroadcasts(row.broadcasts);
      if (!row.reduces.empty()) {
        impl->reduces = parseExpressions(row.reduces).results;
        CRESSET_CHECK(impl->reduces.size() == 2, "REDUCES names dimensions, and whether they are kept");
      }
      if (!row.computes_in.empty()) impl->computes_in.emplace(row.computes_in);
      map->emplace(row.name, ScalarBody(std::move(impl)));
    }
    return map;
  }();
  const auto found = bodies->find(op.fullName());
  return found == bodies->end() ? nullptr : &found->second;
}

std::optional<at::ScalarType> ScalarBody::computesIn(
    const Operator& op, std::span<const Fact> arguments, at::ScalarType result) const {
  if (!impl_->computes_in) return isSupported(result) ? std::optional(result) : std::nullopt;
  const std::vector<Fact> facts = impl_->computes_in->evaluate(op, arguments);
  const auto dtype = facts[0].dtype;
  return dtype && isSupported(*dtype) ? dtype : std::nullopt;
}

namespace {

const c10::IValue* knownArgument(const Operator& op, std::span<const ScalarArgument> arguments, std::string_view name) {
  const auto& parameters = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].name() != name) continue;
    if (arguments[i].kind != ScalarArgument::Kind::Known)
      throw Unsupported{op.fullName() + " along unknown dimensions"};
    return &arguments[i].known;
  }
  return nullptr;
}

std::vector<size_t> lastDimensions(size_t count, size_t rank) {
  if (count > rank) throw Unsupported{"more dimensions than there are"};
  std::vector<size_t> dims(count);
  std::iota(dims.begin(), dims.end(), rank - count);
  return dims;
}

}  // namespace

std::span<const Contraction> ScalarBody::contractions() const {
  return impl_->contractions;
}

Reduction ScalarBody::reduction(const Operator& op, std::span<const ScalarArgument> arguments, size_t rank) const {
  CRESSET_CHECK(!impl_->reduces.empty(), "a scalar body that reduces without the column REDUCES");
  Reduction reduction;
  const Expression &dims = impl_->reduces[0], &kept = impl_->reduces[1];
  using Kind = Expression::Kind;
  const c10::IValue* keeps = kept.kind == Kind::Name ? knownArgument(op, arguments, kept.text) : nullptr;
  reduction.keeps_dims = keeps ? keeps->toBool() : kept.kind == Kind::True;
  if (dims.kind == Kind::Call) {  // last(normalized_shape): as many as the list has elements
    reduction.dims = lastDimensions(knownArgument(op, arguments, dims.children[0].text)->toListRef().size(), rank);
    return reduction;
  }
  const c10::IValue* known =
      dims.text == "all" || dims.kind == Kind::Integer ? nullptr : knownArgument(op, arguments, dims.text);
  std::vector<int64_t> wanted;
  if (dims.kind == Kind::Integer) wanted = {dims.integer};
  if (known && known->isInt()) wanted = {known->toInt()};
  if (known && known->isIntList()) wanted = known->toIntVector();
  if (wanted.empty()) {
    reduction.dims = lastDimensions(rank, rank);
    return reduction;
  }
  for (const int64_t dim : wanted) {
    const int64_t from_start = dim < 0 ? dim + static_cast<int64_t>(rank) : dim;
    if (from_start < 0 || from_start >= static_cast<int64_t>(rank))
      throw Unsupported{"a dimension that does not exist"};
    reduction.dims.push_back(static_cast<size_t>(from_start));
  }
  std::sort(reduction.dims.begin(), reduction.dims.end());
  if (std::adjacent_find(reduction.dims.begin(), reduction.dims.end()) != reduction.dims.end())
    throw Unsupported{"a dimension that is reduced twice"};
  return reduction;
}

std::vector<ScalarBody::Built> ScalarBody::build(
    KernelBuilder& builder, const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in,
    std::span<const at::ScalarType> results) const {
  return evaluateExpressions(impl_->list, builder, op, arguments, computes_in, results);
}

}  // namespace cresset::codegen
