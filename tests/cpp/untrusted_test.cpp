// The operator policy over every operator there is, and limits as C++ hosts set them.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cresset/archive/archive.h"
#include "cresset/module/module.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/policy.h"
#include "cresset/support/error.h"
#include "cresset/support/print_handler.h"
#include "small_archive.h"

using namespace cresset;

namespace {

/// Whether values of the type hold such values where an operator can reach them: what a C++ object holds is its own.
bool mentions(const c10::Type& type, c10::TypeKind kind) {
  if (type.kind() == kind) return true;
  if (type.kind() == c10::TypeKind::ClassType) return false;
  for (const auto& inner : type.containedTypes()) {
    if (mentions(*inner, kind)) return true;
  }
  return false;
}

/// What the strings that operators of PyTorch take are for. A new name here has been looked at: it names no file,
/// process or library.
const std::set<std::string> kHarmlessStrings = {
    "UPLO",
    "activation",
    "algorithm",
    "api_name",
    "approximate",
    "args",
    "assert_msg",
    "attr",
    "binary_attr",
    "driver",
    "equation",
    "indexing",
    "interpolation",
    "mode",
    "name",
    "norm",
    "ord",
    "p",
    "pad_mode",
    "padding",
    "padding_mode",
    "padding_side",
    "post_op_args",
    "post_op_algorithm",
    "post_op_name",
    "reduce",
    "rounding_mode",
    "s",
    "side",
    "unary_algorithm",
    "unary_attr",
    "a",
    "b",
};

/// Operators whose names sound dangerous and are not.
const std::set<std::string> kHarmlessNames = {
    // Unsafe for autograd only: their results do not say that they are views.
    "aten::_unsafe_view",
    "aten::unsafe_chunk",
    "aten::unsafe_split",
    "aten::unsafe_split_with_sizes",
    // Memory that the operator allocates itself.
    "aten::_has_same_storage_numel",
    "aten::_resize_output",
    "aten::_resize_output_",
    // Numbers that a tensor knows of itself.
    "aten::storage_offset",
    "aten::sym_storage_offset",
    // Compares, or checks, and throws.
    "aten::_validate_sparse_coo_tensor_args",
    "aten::_validate_sparse_compressed_tensor_args",
};

struct Known {
  const char* name;
  Restriction restriction;
};

}  // namespace

TEST_CASE("policy: the operators that an untrusted program may not call") {
  for (auto [name, restriction] : std::initializer_list<Known>{
           {"aten::from_file", Restriction::Files},
           {"aten::set_.source_Storage", Restriction::RawMemory},
           {"aten::set_.source_Storage_storage_offset", Restriction::RawMemory},
           {"aten::_unsafe_index.Tensor", Restriction::Internal},
           {"aten::_reshape_alias", Restriction::Internal},
           {"aten::_sparse_coo_tensor_unsafe", Restriction::Internal},
           {"aten::max_pool2d_with_indices_backward", Restriction::Internal},
           {"aten::max_pool2d_with_indices_backward.grad_input", Restriction::Internal},
           {"aten::max_pool2d_with_indices", Restriction::None},
           {"aten::_ctc_loss.Tensor", Restriction::Internal},
           {"aten::_convert_indices_from_csr_to_coo", Restriction::Internal},
           {"aten::_indices", Restriction::RawMemory},
           {"aten::_indices_copy", Restriction::None},
           {"aten::sparse_coo_tensor.indices_size", Restriction::RawMemory},
           {"aten::sparse_coo_tensor.size", Restriction::None},
           {"aten::to_sparse", Restriction::None},
           {"aten::_nested_view_from_buffer", Restriction::Internal},
           {"aten::fbgemm_linear_fp16_weight", Restriction::Internal},
           {"quantized::linear_unpack.legacy", Restriction::RawMemory},
           {"profiler::_record_function_exit", Restriction::RawMemory},
           {"aten::native_layer_norm_backward", Restriction::Internal},
           {"aten::native_batch_norm", Restriction::None},
           {"aten::native_batch_norm.out", Restriction::Internal},
           {"aten::slow_conv3d_forward", Restriction::Internal},
           {"aten::_convolution", Restriction::None},
           {"aten::__and__.Tensor", Restriction::None},
           {"cresset::accumulate_gradient", Restriction::Internal},
           {"aten::as_strided", Restriction::None},
           {"aten::set_.source_Tensor", Restriction::RawMemory},
           {"aten::unsafe_split.Tensor", Restriction::RawMemory},
           {"aten::relu", Restriction::None},
           {"prim::Print", Restriction::None},
           {"quantized::linear", Restriction::None}}) {
    CAPTURE(name);
    const Operator* op = OperatorTable::get().find(name);
    REQUIRE(op);
    CHECK(op->restriction() == restriction);
  }
}

TEST_CASE("policy: every operator has been looked at") {
  // Whoever adds an operator, or moves to a PyTorch that has new ones, ends here if one takes storages or strings that
  // is not listed: restrict it (policy.cpp) or list it above.
  size_t seen = 0, restricted = 0;
  for (const Operator* op : OperatorTable::get().all()) {
    ++seen;
    if (op->restriction() != Restriction::None) {
      ++restricted;
      continue;
    }
    const std::string name = op->schema().name();
    CAPTURE(op->fullName());
    if (!kHarmlessNames.contains(name)) {
      for (const char* part : {"unsafe", "data_ptr", "from_blob", "_file", "file_", "storage", "_resize_output"}) {
        if (contains(name, part)) FAIL_CHECK("an operator named like this is to be restricted, or listed as harmless");
      }
    }
    if (!op->isOfDispatcher()) continue;  // rows of ours state their column
    for (const c10::Argument& argument : op->schema().arguments()) {
      CHECK(!mentions(*argument.type(), c10::TypeKind::StorageType));
      CHECK(!mentions(*argument.type(), c10::TypeKind::CapsuleType));
      if (mentions(*argument.type(), c10::TypeKind::StringType) && !kHarmlessStrings.contains(argument.name())) {
        FAIL_CHECK("it is not listed what the string '" << argument.name() << "' is for");
      }
    }
  }
  CHECK(seen > 4000);
  CHECK(restricted > 100);
}

TEST_CASE("policy: names that allow") {
  const Operator* op = OperatorTable::get().find("aten::set_.source_Storage");
  REQUIRE(op);
  for (const char* pattern : {"*", "aten::*", "aten::set*", "aten::set_", "aten::set_.source_Storage"})
    CHECK(OperatorPolicy({pattern}).allows(*op));
  for (const char* pattern : {"aten::set", "aten::set_.source_Storage_storage_offset", "prim::*"})
    CHECK_FALSE(OperatorPolicy({pattern}).allows(*op));
  for (const char* pattern : {"set_", "", "aten::*_", "**"}) CHECK_THROWS_AS(OperatorPolicy({pattern}), UserError);
  const OperatorPolicy policy({"torch.classes.mine.*"});
  policy.checkClass("__torch__.torch.classes.quantized.LinearPackedParamsBase", {});
  policy.checkClass("__torch__.torch.classes.mine.Store", {});
  CHECK_THROWS_AS(policy.checkClass("__torch__.torch.classes.theirs.Store", {}), UserError);
}

TEST_CASE("policy: refused when a method is compiled, with its place") {
  std::string code = archive_builder::kSmallCode;
  const std::string call = "torch.add(y, CONSTANTS.c0)";
  code.replace(code.find(call), call.size(), "torch._reshape_alias(y, [9], [9])");
  const std::string bytes = archive_builder::smallArchive(code);
  LoadOptions options;
  std::istringstream stream(bytes);
  const Module untrusted = load(stream, options);
  try {
    untrusted.forward({untrusted.attr("w")});
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(contains(error.what(), "may not call aten::_reshape_alias"));
    CHECK(contains(error.what(), "LoadOptions{.allow_ops = {\"aten::_reshape_alias\"}}"));
    CHECK(contains(error.what(), "~~~"));
  }
}

TEST_CASE("limits: scopes in C++") {
  CompilationUnit unit(
      "def forever(n: int) -> int:\n  while n > 0:\n    n += 1\n  return n\n"
      "def repeat(n: int) -> int:\n  return len([0] * n)\n");
  {
    const LimitScope scope({.seconds = 0.05, .memory = size_t(1) << 20});
    const auto start = std::chrono::steady_clock::now();
    try {
      unit.run_method("forever", 1);
      FAIL("no error");
    } catch (const LimitError& error) {
      CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(50));
      CHECK(contains(error.what(), "0.05 seconds"));
      REQUIRE(error.frames().size() == 1);
      CHECK(error.frames()[0].function == "forever");
    }
    CHECK_THROWS_AS(unit.run_method("repeat", int64_t(1) << 40), LimitError);
    CHECK(unit.run_method("repeat", 100).toInt() == 100);
  }
  CHECK(unit.run_method("repeat", 1 << 20).toInt() == 1 << 20);
}

namespace {
std::vector<ScriptWarning> warnings;
}  // namespace

TEST_CASE("limits: the allocator keeps what c10's allocators promise") {
  const LimitScope scope({.memory = size_t(1) << 20});
  c10::Allocator& allocator = *c10::GetCPUAllocator();
  const auto budget = std::make_shared<RunBudget>(Limits{.memory = size_t(1) << 20}, nullptr);
  void* raw = nullptr;
  {
    const BudgetScope counting(budget);
    const c10::DataPtr data = allocator.allocate(1000);
    CHECK((data.get_deleter() == allocator.raw_deleter()));
    CHECK(data.get() == data.get_context());
    raw = allocator.raw_allocate(size_t(1) << 19);
    CHECK_THROWS_AS((void)allocator.allocate(size_t(1) << 19), ScriptRaise);  // counted
  }
  allocator.raw_deallocate(raw);  // by a thread without the budget
  const BudgetScope counting(budget);
  CHECK_NOTHROW((void)allocator.allocate((size_t(1) << 20) - 64));
  CHECK((allocator.allocate(100).get_deleter() == allocator.raw_deleter()));
}

TEST_CASE("warnings go to the handler, with their place") {
  CompilationUnit unit;
  unit.define("def f(n: int):\n  if n > 0:\n    torch.warn('careful')\n", nullptr, "model.py");
  setWarningHandler([](const ScriptWarning& warning) { warnings.push_back(warning); });
  unit.run_method("f", 1);
  setWarningHandler(nullptr);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].message == "careful");
  CHECK(warnings[0].file == "model.py");
  CHECK(warnings[0].line == 3);
}
