// Kernels, of operators alone and of groups, beside the unoptimized program, for sizes around those of vectors. Tensors
// have blocks of memory of just their size: in a build with AddressSanitizer kernels check what they read and write.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cresset/codegen/compiler.h"
#include "cresset/executor/kernels.h"
#include "cresset/module/compilation_unit.h"
#include "cresset/module/module.h"
#include "cresset/ops/tensor_memory.h"
#include "cresset/support/options.h"

using namespace cresset;

namespace {

at::Tensor numbers(const std::vector<int64_t>& sizes, at::ScalarType dtype) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return at::linspace(-1.5, 2, count, at::TensorOptions().dtype(at::kDouble)).sin().view(sizes).to(dtype);
}

/// The tensor with the same elements in other layouts. Each begins or ends where its memory does.
std::vector<at::Tensor> layouts(const at::Tensor& x) {
  std::vector<at::Tensor> all = {x};
  if (x.dim() < 2) return all;
  all.push_back(x.transpose(0, -1).contiguous().transpose(0, -1));
  std::vector<int64_t> doubled = x.sizes().vec();
  doubled.back() = 2 * doubled.back();
  all.push_back(x.new_zeros(doubled).slice(-1, 0, std::nullopt, 2).copy_(x));
  all.push_back(x.new_zeros(doubled).slice(-1, x.size(-1)).copy_(x));
  return all;
}

constexpr const char* kPrograms = R"(
def trained(x: Tensor, w: Tensor, m: Tensor, v: Tensor):
    return torch.relu(torch.batch_norm(x, w, w, m, v, True, 0.3, 1e-5, False) + x)

def groups(x: Tensor, w: Tensor, m: Tensor, v: Tensor):
    y = torch.softmax(x * 2 + 1, -1)
    z = torch.layer_norm(y, [y.size(-1)]) - x.mean(0, True)
    return torch.sigmoid(z) * x.amax(1, True) + z.cumsum(-1), (x * x).sum([0, -1])

def places(x: Tensor, w: Tensor, m: Tensor, v: Tensor):
    i = torch.arange(x.size(1) - 1, -1, -1)
    y = torch.index_select(x * 2, 1, i) + x[:, i]
    z = torch.cat([y.exp(), x, y], -1)
    return z, z.transpose(0, 1).contiguous() + 1, torch.constant_pad_nd(x, [1, 2], 0) * 3

def added(x: Tensor, w: Tensor, m: Tensor, v: Tensor):
    i = torch.arange(x.size(1) - 1, -1, -1)
    y = torch.zeros_like(x).index_add_(1, i, x.index_select(1, i) * 2)
    y.add_(x).mul_(2.0)
    j = torch.zeros([x.size(-1)], dtype=torch.long).expand(x.size())
    return y, x.scatter_add(-1, j, x * x), x.index_put([torch.zeros_like(torch.arange(x.size(0)))], x + 1, True)
)";

using Results = std::vector<at::Tensor>;

/// What the function returns, and the gradients of the first two arguments.
Results resultsOf(Function& function, const at::Tensor& x, const at::Tensor& w, bool with_gradients) {
  const c10::AutoGradMode gradients(with_gradients);
  at::Tensor given = x.detach(), weight = w.detach().clone();
  if (with_gradients) {
    given.requires_grad_();
    weight.requires_grad_();
  }
  const at::Tensor m = w.detach().clone(), v = w.detach().abs().add(0.1);
  const IValue result = callFunction(function, {given, weight, m, v});
  Results all;
  if (result.isTensor()) {
    all.push_back(result.toTensor());
  } else {
    for (const IValue& part : result.toTupleRef().elements()) all.push_back(part.toTensor());
  }
  if (with_gradients) {
    at::Tensor sum = all[0].mul(all[0]).sum();
    for (size_t i = 1; i < all.size(); ++i) sum = sum.add(all[i].mul(all[i]).sum());
    sum.backward();
    for (const at::Tensor& argument : {given, weight})
      all.push_back(argument.grad().defined() ? argument.grad() : at::zeros_like(argument));
  }
  all.push_back(m);
  all.push_back(v);
  return all;
}

/// As near as rounding allows where large terms cancel.
void checkClose(const Results& found, const Results& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].sizes() == expected[i].sizes());
    if (found[i].numel() == 0) continue;
    const double tolerance = found[i].scalar_type() == at::kDouble ? 1e-10 : 1e-3;
    const double difference = found[i].sub(expected[i]).abs().max().item<double>();
    CHECK(difference <= tolerance * std::max(1., expected[i].abs().max().item<double>()));
  }
}

const std::vector<std::vector<int64_t>> kSizes = {
    {2, 3, 1},  {2, 3, 4},  {3, 5, 7},    {2, 4, 8},     {1, 3, 15},    {2, 3, 16},      {2, 3, 17},
    {2, 3, 33}, {5, 1, 65}, {2, 3, 8, 9}, {3, 4, 1, 64}, {2, 17, 3, 5}, {2, 2, 4, 5, 6},
};

}  // namespace

TEST_CASE("kernels stay within their memory, and compute what operators compute" * slow_under_threads) {
  const OptionScope options({{Option::kernels, "now"}, {Option::plans, "always"}});
  CompilationUnit unit(kPrograms);
  const size_t before = kernelCounts().launches;
  for (const char* name : {"trained", "groups", "places", "added"}) {
    Function& function = unit.get_function(name);
    for (const std::vector<int64_t>& sizes : kSizes) {
      for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
        const at::Tensor w = numbers({sizes[1]}, dtype);
        for (const at::Tensor& x : layouts(numbers(sizes, dtype))) {
          for (const bool with_gradients : {false, true}) {
            const std::string of = c10::str(name, ", sizes ", x.sizes(), ", strides ", x.strides(), ", ", dtype);
            CAPTURE(of);
            Results expected;
            {
              const OptionScope unoptimized({{Option::execution_mode, "interpret"}});
              expected = resultsOf(function, x, w, with_gradients);
            }
            checkClose(resultsOf(function, x, w, with_gradients), expected);
          }
        }
      }
    }
  }
  if (codegen::kernelCompiler()) CHECK(kernelCounts().launches > before);
}

TEST_CASE("results take the place of what the program made and needs no more") {
  const OptionScope options({{Option::kernels, "now"}, {Option::plans, "always"}});
  const c10::NoGradGuard without_gradients;
  if (!codegen::kernelCompiler()) return;
  const at::Tensor x = numbers({20, 30}, at::kFloat);
  const auto allocated = [&](const std::string& body) {
    CompilationUnit unit("def f(x: Tensor):\n  y = x.clone()\n" + body);
    Function& function = unit.get_function("f");
    for (int i = 0; i < 3; ++i) callFunction(function, {x});
    const AllocationCounter counter;
    const IValue result = callFunction(function, {x});
    return counter.count().allocations;
  };
  CHECK(allocated("  return (y + x).relu()") == 1);
  CHECK(allocated("  y.add_(x).relu_()\n  return y") == 1);
  CHECK(allocated("  z = (y + x).relu()\n  return z, y") == 2);
  CHECK(allocated("  v = y[0]\n  z = (y + x).relu()\n  return z, v") == 2);
  CHECK(allocated("  return (y + x.unsqueeze(0)).relu()") == 2);  // of other sizes
  CHECK(allocated("  return (y + x).relu().double()") == 2);
  CHECK(allocated("  return (y + y[:, :1]).relu()") == 2);
  CHECK(x.equal(numbers({20, 30}, at::kFloat)));
}
