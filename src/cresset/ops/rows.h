// Cresset's own rows by family, in the order in which overloads of one name are ranked (see overload_ranking.cpp).
// Every span is constant data: nothing runs at static initialization.
#pragma once

#include <span>

#include "cresset/ops/operator.h"

namespace cresset {

std::span<const Row> listRows();
std::span<const Row> dictRows();
std::span<const Row> stringRows();
std::span<const Row> arithmeticRows();
std::span<const Row> comparisonRows();
std::span<const Row> mathRows();
std::span<const Row> conversionRows();
std::span<const Row> tensorRows();
std::span<const Row> tensorCreationRows();
std::span<const Row> interpolateRows();
std::span<const Row> autogradRows();
std::span<const Row> trainingRows();
std::span<const Row> layoutRows();
std::span<const Row> miscRows();
std::span<const Row> factCheckRows();

/// Sorts the overloads of one name into ranking order (overload_ranking.cpp).
void rankOverloads(std::string_view name, std::vector<const Operator*>& overloads);

}  // namespace cresset
