// Sizes as expressions: arithmetic and what compares equal.
#include "cresset/analysis/size.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cresset/executor/fact_checks.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "test.h"

using namespace cresset;

namespace {

const Size kRows = Size::ofDimension(0, 0), kColumns = Size::ofDimension(0, 1), kNumber = Size::ofInt(1);

std::string textOf(const Size& size) {
  return size.toString([](size_t value) { return value == 0 ? std::string("x") : std::string("n"); });
}

Size number(int64_t value) {
  return Size::constant(value);
}

TEST_CASE("sizes: equal by arithmetic") {
  CHECK((kRows + number(1)) * number(2) == number(2) * kRows + number(2));
  CHECK(kRows * kColumns + kRows == kRows * (kColumns + number(1)));
  CHECK(kRows - kRows == number(0));
  CHECK((kRows + kNumber) * (kRows - kNumber) == kRows * kRows - kNumber * kNumber);
  CHECK(kRows + kColumns != kRows * kColumns);
  CHECK(kRows != kNumber);
  CHECK(kRows != number(3));
}

TEST_CASE("sizes: text") {
  CHECK(textOf(number(2) * kColumns * kRows + number(3) + kNumber) == "2 * x.size(0) * x.size(1) + n + 3");
  CHECK(textOf(Size::floorDivide(kRows + number(1), number(2))) == "((x.size(0) + 1) // (2))");
  CHECK(textOf(Size::broadcast(kRows, Size::broadcast(kColumns, kNumber))) == "broadcast(x.size(0), x.size(1), n)");
  CHECK(textOf(number(0)) == "0");
  CHECK(textOf(Size()) == "?");
}

TEST_CASE("sizes: floor division") {
  CHECK(Size::floorDivide(number(-7), number(2)).asConstant() == -4);
  CHECK(Size::floorDivide(number(7), number(-2)).asConstant() == -4);
  CHECK(Size::floorDivide(number(-8), number(2)).asConstant() == -4);
  CHECK_FALSE(Size::floorDivide(kRows, number(0)).isKnown());
  CHECK_FALSE(Size::floorDivide(number(std::numeric_limits<int64_t>::min()), number(-1)).isKnown());
  // 2 * n may have overflowed.
  CHECK(Size::floorDivide(number(2) * kNumber, number(2)) != kNumber);
}

TEST_CASE("sizes: exact division") {
  CHECK(Size::divideExactly(kRows * kColumns * kNumber, kColumns) == kRows * kNumber);
  CHECK(Size::divideExactly(kRows * kRows * number(6), kRows * number(3)) == kRows * number(2));
  CHECK(Size::divideExactly(kRows * kColumns + kRows, kRows) == kColumns + number(1));
  CHECK_FALSE(Size::divideExactly(kRows * number(6), number(4)).isKnown());
  CHECK_FALSE(Size::divideExactly(kRows + number(1), kRows).isKnown());
  CHECK_FALSE(Size::divideExactly(kRows, kRows + kColumns).isKnown());
  CHECK_FALSE(Size::divideExactly(kRows, number(0)).isKnown());
}

TEST_CASE("sizes: broadcast") {
  CHECK(Size::broadcast(kRows, number(1)) == kRows);
  CHECK(Size::broadcast(number(1), kRows) == kRows);
  CHECK(Size::broadcast(kRows, number(5)) == number(5));
  CHECK(Size::broadcast(number(0), kRows) == number(0));
  CHECK(Size::broadcast(kRows, kRows) == kRows);
  CHECK(Size::broadcast(kRows, kColumns) == Size::broadcast(kColumns, kRows));
  CHECK(
      Size::broadcast(Size::broadcast(kRows, kColumns), kNumber) ==
      Size::broadcast(kRows, Size::broadcast(kNumber, Size::broadcast(kColumns, kRows))));
}

TEST_CASE("sizes: what can't be negative") {
  CHECK((kRows * kColumns + number(2)).isNonNegative());
  CHECK(Size::floorDivide(kRows, kColumns).isNonNegative());
  CHECK_FALSE(kNumber.isNonNegative());
  CHECK_FALSE((kRows - number(1)).isNonNegative());
  CHECK_FALSE(Size().isNonNegative());
}

TEST_CASE("sizes: large ones are unknown") {
  Size sum = kRows;
  for (int64_t i = 0; i < 100; ++i) sum = sum * sum + Size::ofInt(static_cast<size_t>(i) + 2);
  CHECK_FALSE(sum.isKnown());
  CHECK_FALSE((number(std::numeric_limits<int64_t>::max()) + number(1)).isKnown());
  Size quotient = kRows;
  for (int64_t i = 2; i < 100; ++i) quotient = Size::floorDivide(quotient, number(i));
  CHECK_FALSE(quotient.isKnown());
}

/// Everything that a program may make of what it has, again and again: the sizes that are known stay small.
TEST_CASE("sizes: products of terms, factors and depth are bounded") {
  std::vector<Size> sizes;
  for (size_t i = 0; i < 6; ++i) sizes.push_back(Size::ofInt(i) * Size::ofDimension(10, i) + number(1));
  size_t known = 0, largest = 0;
  for (size_t i = 0; i < 4000; ++i) {
    const Size &a = sizes[i % sizes.size()], &b = sizes[(i * 7 + 3) % sizes.size()];
    const Size made[] = {a + b, a * b, Size::floorDivide(a, b), Size::broadcast(a, b)};
    const Size& next = made[i % 4];
    CHECK(next.weight() <= Size::kMaxWeight);
    if (!next.isKnown()) continue;
    ++known;
    largest = std::max(largest, next.weight());
    // Terms and variables all stand in the text, of at most a dozen characters each.
    CHECK(textOf(next).size() <= 40 * Size::kMaxWeight);
    if (sizes.size() < 300) sizes.push_back(next);
  }
  CHECK(known > 100);
  CHECK(largest > Size::kMaxWeight / 2);
}

TEST_CASE("sizes: one of the widest at each level is unknown") {
  // As wide as terms, factors and depth allow one by one: 12 terms of 8 quotients of such.
  Size size = kRows;
  for (int level = 0; level < 4; ++level) {
    Size product = number(1);
    for (size_t i = 0; i < 8; ++i) product = product * Size::floorDivide(size + Size::ofInt(i), kColumns);
    Size sum = number(0);
    for (size_t i = 0; i < 12; ++i) sum = sum + product * Size::ofInt(100 + i);
    size = sum;
  }
  CHECK_FALSE(size.isKnown());
}

/// What the oracle asserts of sizes in a graph, a line per value.
std::string assertedSizes(const std::string& text) {
  const auto graph = parseGraph(text, {.file = "sizes"});
  verify(*graph);
  insertFactChecks(*graph, true);
  const std::string printed = toString(*graph);
  std::string lines;
  const std::string_view phrase = " to have the sizes ";
  for (size_t at = printed.find(phrase); at != std::string::npos; at = printed.find(phrase, at + 1)) {
    const size_t begin = printed.rfind('"', at) + 1;
    lines += printed.substr(begin, at - begin) + ": " +
             printed.substr(at + phrase.size(), printed.find(']', at) - at - phrase.size() + 1) + "\n";
  }
  return lines;
}

TEST_CASE("sizes of values, as the oracle asserts them") {
  CHECK(
      assertedSizes(R"(
graph(%x : Float(*, *), %y : Float(*, *), %n : int, %c : bool):
  %minus : int = prim::Constant[value=-1]()
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %none : NoneType = prim::Constant()
  %t : Tensor = aten::t(%x)
  %flat_sizes : int[] = prim::ListConstruct(%minus)
  %flat : Tensor = aten::reshape(%t, %flat_sizes)
  %sum : Tensor = aten::add(%x, %y, %one)
  %again : Tensor = aten::mul(%sum, %x)
  %rows : int = aten::size(%x, %zero)
  %more : int = aten::add(%rows, %n)
  %sizes : int[] = prim::ListConstruct(%more, %rows)
  %new : Tensor = aten::new_zeros(%x, %sizes, %none, %none, %none, %none)
  %viewed_sizes : int[] = prim::ListConstruct(%n, %minus)
  %viewed : Tensor = aten::view(%x, %viewed_sizes)
  %either : Tensor = prim::If(%c)
    block0():
      %u : Tensor = aten::unsqueeze(%x, %zero)
      -> (%u)
    block1():
      %v : Tensor = aten::unsqueeze(%y, %zero)
      -> (%v)
  %doubled : Tensor = aten::add(%either, %either, %one)
  return (%flat, %again, %new, %viewed, %doubled)
)") == "%t: [%x.size(1), %x.size(0)]\n"
       "%flat: [%x.size(0) * %x.size(1)]\n"
       "%sum: [broadcast(%x.size(0), %y.size(0)), broadcast(%x.size(1), %y.size(1))]\n"
       "%again: [broadcast(%x.size(0), %y.size(0)), broadcast(%x.size(1), %y.size(1))]\n"
       "%new: [%x.size(0) + %n, %x.size(0)]\n"
       "%u: [1, %x.size(0), %x.size(1)]\n"
       "%v: [1, %y.size(0), %y.size(1)]\n"
       "%either: [1, %either.size(1), %either.size(2)]\n"
       "%doubled: [1, %either.size(1), %either.size(2)]\n");
}

}  // namespace
