// Checks of recurrent networks and packed sequences. See argument_checks_impl.h.
#include "cresset/ops/argument_checks_impl.h"

#include <utility>
#include <vector>

namespace cresset::checks {

namespace {

struct Recurrent {
  int64_t gates;
  bool has_cell;
};

struct Layers {
  int64_t layers, directions;
  bool has_biases;
};

/// The batch sizes of a packed sequence: how many sequences go on at each step.
int64_t checkBatchSizes(const Tensor& sizes, int64_t rows) {
  requireStrided("batch_sizes", "it", sizes);
  TORCH_CHECK(
      sizes.dim() == 1 && sizes.scalar_type() == at::kLong && sizes.is_cpu() && sizes.numel() > 0,
      "batch_sizes must be a vector of int64 on the CPU that is not empty");
  const Tensor dense = sizes.contiguous();
  const int64_t* at = dense.const_data_ptr<int64_t>();
  int64_t left = rows;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    TORCH_CHECK(at[i] > 0 && at[i] <= left && (i == 0 || at[i] <= at[i - 1]), "batch_sizes don't fit the data");
    left -= at[i];
  }
  TORCH_CHECK(left == 0, "batch_sizes don't fit the data");
  return at[0];
}

void checkParameters(
    const char* op, const std::vector<Tensor>& params, const Recurrent& kind, const Layers& net, int64_t input,
    int64_t hidden, int64_t output) {
  const size_t each = (net.has_biases ? 4 : 2) + (kind.has_cell && output != hidden ? 1 : 0);
  const int64_t networks = net.layers * net.directions;
  TORCH_CHECK(
      net.layers > 0 && net.layers <= static_cast<int64_t>(params.size()) &&
          params.size() == each * static_cast<size_t>(networks),
      op, ": ", params.size(), " weights don't make ", net.layers, " layers");
  const int64_t rows = kind.gates * hidden;
  for (int64_t i = 0; i < networks; ++i) {
    const Tensor* weights = &params[static_cast<size_t>(i) * each];
    const int64_t width = i < net.directions ? input : output * net.directions;
    requireSizes(op, "a weight for the input", weights[0], {rows, width});
    requireSizes(op, "a weight for the hidden state", weights[1], {rows, output});
    if (net.has_biases) {
      requireSizes(op, "a bias", weights[2], {rows});
      requireSizes(op, "a bias", weights[3], {rows});
    }
    if (output != hidden) requireSizes(op, "a projection", weights[each - 1], {output, hidden});
  }
}

/// `state`: the hidden state, for an LSTM with the cell's. `rest`: params, has_biases, num_layers, dropout, train,
/// bidirectional.
void checkRecurrent(
    const char* op, Recurrent kind, const IValue& state, const IValue* rest, int64_t batch, int64_t input) {
  const Layers net{rest[2].toInt(), rest[5].toBool() ? 2 : 1, rest[1].toBool()};
  const std::vector<Tensor> states =
      kind.has_cell ? state.toTensorVector() : std::vector<Tensor>{optionalTensor(state)};
  TORCH_CHECK(states.size() == (kind.has_cell ? 2 : 1), op, ": the state must be of two tensors, not ", states.size());
  for (const Tensor& each : states) {
    requireStrided(op, "the state", each);
    TORCH_CHECK(each.dim() == 3, op, ": the state must have 3 dimensions, not ", each.dim());
  }
  const int64_t output = states[0].size(2), hidden = states.back().size(2);
  checkParameters(op, rest[0].toTensorVector(), kind, net, input, hidden, output);
  requireSizes(op, "the hidden state", states[0], {net.layers * net.directions, batch, output});
  requireSizes(op, "the state", states.back(), {net.layers * net.directions, batch, hidden});
}

}  // namespace

/// (input, state, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
template <int64_t gates, bool has_cell>
void checkSequence(IValue* arguments) {
  const char* op = has_cell ? "lstm" : gates == 3 ? "gru" : "rnn";
  const Tensor input = optionalTensor(arguments[0]);
  requireStrided(op, "the input", input);
  TORCH_CHECK(input.dim() == 3, op, ": the input must have 3 dimensions, not ", input.dim());
  const bool batch_first = arguments[8].toBool();
  TORCH_CHECK(input.size(batch_first ? 1 : 0) > 0, op, ": the input has no steps");
  checkRecurrent(op, {gates, has_cell}, arguments[1], arguments + 2, input.size(batch_first ? 0 : 1), input.size(2));
}

/// (data, batch_sizes, state, params, …): a packed sequence.
template <int64_t gates, bool has_cell>
void checkPacked(IValue* arguments) {
  const char* op = has_cell ? "lstm" : gates == 3 ? "gru" : "rnn";
  const Tensor data = optionalTensor(arguments[0]);
  requireStrided(op, "the data", data);
  TORCH_CHECK(data.dim() == 2, op, ": the data must have 2 dimensions, not ", data.dim());
  const int64_t batch = checkBatchSizes(optionalTensor(arguments[1]), data.size(0));
  checkRecurrent(op, {gates, has_cell}, arguments[2], arguments + 3, batch, data.size(1));
}

/// (data, batch_sizes, batch_first, padding_value, total_length)
void checkPadPacked(IValue* arguments) {
  const Tensor data = optionalTensor(arguments[0]);
  requireStrided("_pad_packed_sequence", "the data", data);
  TORCH_CHECK(data.dim() >= 1, "_pad_packed_sequence: the data must have a dimension");
  checkBatchSizes(optionalTensor(arguments[1]), data.size(0));
}

template void checkSequence<1, false>(IValue*);
template void checkSequence<3, false>(IValue*);
template void checkSequence<4, true>(IValue*);
template void checkPacked<1, false>(IValue*);
template void checkPacked<3, false>(IValue*);
template void checkPacked<4, true>(IValue*);

}  // namespace cresset::checks
