#include "cresset/codegen/operator_check.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "cresset/ops/operator_rows.h"

namespace cresset::codegen {

namespace {

class NoWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning&) override {}
};

/// What the call raises; nothing if it returns. Nothing sees the call: no tape, dispatch mode, trace, profiler or
/// handler of warnings.
std::string errorOf(const Operator& op, const std::vector<c10::IValue>& arguments) {
  const c10::impl::ForceDispatchKeyGuard no_modes(
      c10::DispatchKeySet({c10::DispatchKey::BackendSelect, c10::DispatchKey::ADInplaceOrView}),
      c10::autograd_dispatch_keyset | c10::autocast_dispatch_keyset);
  const at::AutoDispatchBelowADInplaceOrView below;
  const at::DisableRecordFunctionGuard unseen;
  static NoWarnings no_warnings;
  const c10::WarningUtils::WarningHandlerGuard unheard(&no_warnings);
  Stack stack(arguments);
  try {
    op.call(stack, arguments.size());
    return "";
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::vector<c10::IValue> inFloat(std::vector<c10::IValue> arguments) {
  for (c10::IValue& argument : arguments) {
    if (argument.isTensor()) argument = sampleTensor(static_cast<size_t>(argument.toTensor().dim()), at::kFloat);
  }
  return arguments;
}

/// What the operator's body takes for an index is 0 in samples of one element: ATen's kernel may believe it.
std::vector<c10::IValue> withValidIndices(const Operator& op, std::vector<c10::IValue> arguments) {
  const OperatorRow* row = findOperatorRow(op.fullName());
  const std::string body = row ? std::string(row->scalar) : std::string();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].isTensor() || !at::isIntegralType(arguments[i].toTensor().scalar_type(), false)) continue;
    if (body.find("index(" + op.schema().arguments()[i].name()) == std::string::npos) continue;
    const at::Tensor& given = arguments[i].toTensor();
    const at::Tensor sample = sampleTensor(static_cast<size_t>(given.dim()), given.scalar_type());
    std::memset(sample.mutable_data_ptr(), 0, sample.itemsize());
    arguments[i] = sample;
  }
  return arguments;
}

std::string keyOf(const Operator& op, const std::vector<c10::IValue>& arguments) {
  std::ostringstream key;
  key << op.fullName();
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor()) {
      key << ' ' << argument.toTensor().scalar_type() << argument.toTensor().dim();
    } else {
      key << ' ' << argument.tagKind() << argument;
    }
  }
  return key.str();
}

}  // namespace

at::Tensor sampleTensor(size_t rank, at::ScalarType dtype) {
  const std::vector<int64_t> sizes(rank, 1);
  at::Tensor sample(at::detail::empty_cpu(sizes, dtype, false, c10::MemoryFormat::Contiguous));
  std::memset(sample.mutable_data_ptr(), 1, sample.itemsize());  // no operator, which a dispatch mode would see
  return sample;
}

std::string objectionTo(const Operator& op, const std::vector<c10::IValue>& arguments) {
  constexpr size_t kMaxKept = 4096;
  static auto* mutex = new std::mutex;
  static auto* kept = new std::unordered_map<std::string, std::string>;
  const std::string key = keyOf(op, arguments);
  {
    const std::lock_guard lock(*mutex);
    if (const auto found = kept->find(key); found != kept->end()) return found->second;
  }
  std::string error = errorOf(op, withValidIndices(op, arguments));
  const OperatorRow* row = findOperatorRow(op.fullName());
  const bool knows_sizes = row && (!row->reduces.empty() || !row->contracts.empty());
  if (!error.empty() && knows_sizes && !errorOf(op, inFloat(arguments)).empty()) error.clear();
  const std::lock_guard lock(*mutex);
  if (kept->size() >= kMaxKept) kept->clear();
  return kept->emplace(key, std::move(error)).first->second;
}

std::optional<c10::IValue> resultOf(const Operator& op, std::vector<c10::IValue> arguments) {
  const size_t num_arguments = arguments.size();
  try {
    op.call(arguments, num_arguments);
  } catch (const c10::Error&) {
    return std::nullopt;
  }
  return std::move(arguments.back());
}

}  // namespace cresset::codegen
