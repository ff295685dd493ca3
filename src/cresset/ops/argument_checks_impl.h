// The checks that the table names (column ARGUMENT_CHECK), and what they are written with. See argument_checks.h.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace cresset::checks {

using at::Tensor;
using c10::IValue;

/// The tensor, or an undefined one for None.
Tensor optionalTensor(const IValue& value);
bool isStrided(const Tensor& tensor);
void requireStrided(const char* op, const char* argument, const Tensor& tensor);
void requireSizes(const char* op, const char* argument, const Tensor& tensor, at::IntArrayRef expected);
/// The integers of a tensor, as int64 on the CPU, contiguous.
Tensor integers(const char* op, const char* argument, const Tensor& tensor);

void checkBatchNorm(IValue* arguments);
void checkBatchNormWithoutStats(IValue* arguments);
void checkBatchNormWithUpdate(IValue* arguments);
void checkBatchNormBackward(IValue* arguments);
void checkWeightNorm(IValue* arguments);
void checkSoftmaxBackward(IValue* arguments);
void checkAttention(IValue* arguments);
/// Attention repeats heads by a quotient of counts.
void requireHeads(const at::Tensor& key, const at::Tensor& value);
void checkGroupNorm(IValue* arguments);
template <int64_t gates, bool has_cell>
void checkSequence(IValue* arguments);
template <int64_t gates, bool has_cell>
void checkPacked(IValue* arguments);
void checkPadPacked(IValue* arguments);
void checkEmbedding(IValue* arguments);
void checkEmbeddingBag(IValue* arguments);
void checkCtc(IValue* arguments);
void checkFinite(IValue* arguments);
void checkPower(IValue* arguments);
void checkProductInto(IValue* arguments);
void checkDistances(IValue* arguments);
void checkDistancesBackward(IValue* arguments);
template <size_t first>
void checkStrided(IValue* arguments);
template <size_t numbers>
void checkCountOfNumbers(IValue* arguments);
template <size_t first, size_t count, bool has_window>
void checkScales(IValue* arguments);
void checkStrideOfConvolution(IValue* arguments);
void checkWindows(IValue* arguments);
void checkNoiseInto(IValue* arguments);
template <size_t count>
void checkPooledSize(IValue* arguments);
void checkChannelsOfConvolution(IValue* arguments);
void checkStep(IValue* arguments);
void checkLstmCell(IValue* arguments);
void checkGruCell(IValue* arguments);
template <size_t dimensions, bool transposed>
void checkPackedConvolution(IValue* arguments);
void checkPackedLinear(IValue* arguments);
void checkGroupsOfWeight(IValue* arguments);
void checkRepeats(IValue* arguments);
void checkRepeatsOf(IValue* arguments);
void checkNotQuantized(IValue* arguments);
void checkPartsOfQuantized(IValue* arguments);
void checkElementsForOneDnn(IValue* arguments);
void checkZeroed(IValue* arguments);
template <size_t dtype>
void checkNewZeros(IValue* arguments);
void checkHasMemory(IValue* arguments);
void checkWindowOfConvolution(IValue* arguments);
void checkMovingAverage(IValue* arguments);
void checkHeadsOfAttention(IValue* arguments);
void checkHeadsOfEncoder(IValue* arguments);

}  // namespace cresset::checks
