// The prelude: what torch writes in Python on top of its operators, as far as an operator alone can't stand for it
// because of its signature (`relu(x, inplace=True)`) or because it is a class (`torch.no_grad`).
//
// Each entry compiles by itself into the library of the program that uses it, under the qualified name that torch.jit
// gives it in archives, so that the same code may also come from an archive.
#include "cresset/frontend/prelude.h"

#include <string_view>

#include "cresset/frontend/compiler.h"
#include "cresset/program/library.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct Entry {
  std::string_view name;  // as Python code calls it
  std::string_view home;  // prefix of its qualified name
  std::string_view code;
  std::string_view portable = {};  // the body of the class in archives, if `code` has operators that torch.jit lacks
};

// torch.jit knows autocast by its class: it reads what __init__ stores and casts what runs between Enter and Exit.
#define PORTABLE_AUTOCAST(parameters, device_type, dtype)                              \
  "  _enabled : bool\n"                                                                \
  "  device : str\n"                                                                   \
  "  fast_dtype : int\n"                                                               \
  "  def __init__(self, " parameters                                                   \
  ") -> NoneType:\n"                                                                   \
  "    self.fast_dtype = " dtype                                                       \
  "\n"                                                                                 \
  "    self._enabled = enabled\n"                                                      \
  "    self.device = " device_type                                                     \
  "\n"                                                                                 \
  "    return None\n"                                                                  \
  "  def __enter__(self) -> NoneType:\n"                                               \
  "    return None\n"                                                                  \
  "  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:\n" \
  "    return None\n"

// Gradient mode, the part of inference mode that torch.jit can set from a script.
constexpr std::string_view kPortableInferenceMode = R"(
  mode : bool
  prev : bool
  def __init__(self, mode: bool=True) -> NoneType:
    self.mode = mode
    self.prev = False
    return None
  def __enter__(self) -> NoneType:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(torch.__and__(self.prev, torch.__not__(self.mode)))
    return None
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> NoneType:
    torch.set_grad_enabled(self.prev)
    return None
)";

constexpr Entry kEntries[] = {
    {"torch.no_grad", "__torch__.torch.autograd.grad_mode", R"(
class no_grad:
  prev : bool
  def __init__(self) -> None:
    self.prev = False
  def __enter__(self) -> None:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    torch.set_grad_enabled(self.prev)
)"},
    {"torch.enable_grad", "__torch__.torch.autograd.grad_mode", R"(
class enable_grad:
  prev : bool
  def __init__(self) -> None:
    self.prev = False
  def __enter__(self) -> None:
    self.prev = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    torch.set_grad_enabled(self.prev)
)"},
    {"torch.autocast", "__torch__.torch.amp.autocast_mode", R"(
class autocast:
  device : str
  enabled : bool
  dtype : Optional[int]
  cache_enabled : Optional[bool]
  previous : List[int]
  def __init__(self, device_type: str, dtype: Optional[int] = None, enabled: bool = True, cache_enabled: Optional[bool] = None) -> None:
    self.device = device_type
    self.enabled = enabled
    self.dtype = dtype
    self.cache_enabled = cache_enabled
    self.previous = annotate(List[int], [])
  def __enter__(self) -> None:
    self.previous = ops.cresset.enter_autocast(self.device, self.dtype, self.enabled, self.cache_enabled)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    ops.cresset.exit_autocast(self.device, self.previous)
)",
     PORTABLE_AUTOCAST(
         "device_type: str, dtype: Optional[int]=None, enabled: bool=True, cache_enabled: Optional[bool]=None",
         "device_type",
         "torch.get_autocast_dtype(device_type) if torch.__is__(dtype, None) else unchecked_cast(int, dtype)")},
    {"torch.cuda.amp.autocast", "__torch__.torch.cuda.amp.autocast_mode", R"(
class autocast:
  device : str
  enabled : bool
  dtype : Optional[int]
  cache_enabled : Optional[bool]
  previous : List[int]
  def __init__(self, enabled: bool = True, dtype: Optional[int] = torch.float16, cache_enabled: bool = True) -> None:
    self.device = "cuda"
    self.enabled = enabled
    self.dtype = dtype
    self.cache_enabled = cache_enabled
    self.previous = annotate(List[int], [])
  def __enter__(self) -> None:
    self.previous = ops.cresset.enter_autocast(self.device, self.dtype, self.enabled, self.cache_enabled)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    ops.cresset.exit_autocast(self.device, self.previous)
)",
     PORTABLE_AUTOCAST("enabled: bool=True, dtype: int=5, cache_enabled: bool=True", "\"cuda\"", "dtype")},
    {"torch.cpu.amp.autocast", "__torch__.torch.cpu.amp.autocast_mode", R"(
class autocast:
  device : str
  enabled : bool
  dtype : Optional[int]
  cache_enabled : Optional[bool]
  previous : List[int]
  def __init__(self, enabled: bool = True, dtype: Optional[int] = torch.bfloat16, cache_enabled: bool = True) -> None:
    self.device = "cpu"
    self.enabled = enabled
    self.dtype = dtype
    self.cache_enabled = cache_enabled
    self.previous = annotate(List[int], [])
  def __enter__(self) -> None:
    self.previous = ops.cresset.enter_autocast(self.device, self.dtype, self.enabled, self.cache_enabled)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    ops.cresset.exit_autocast(self.device, self.previous)
)",
     PORTABLE_AUTOCAST("enabled: bool=True, dtype: int=15, cache_enabled: bool=True", "\"cpu\"", "dtype")},
    {"torch.autograd.profiler.record_function", "__torch__.torch.autograd.profiler", R"(
class record_function:
  name : str
  args : Optional[str]
  record : Optional[__torch__.torch.classes.profiler._RecordFunction]
  def __init__(self, name: str, args: Optional[str] = None) -> None:
    self.name = name
    self.args = args
    self.record = None
  def __enter__(self) -> record_function:
    self.record = ops.profiler._record_function_enter_new(self.name, self.args)
    return self
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    record = self.record
    if record is not None:
      ops.profiler._record_function_exit(record)
)"},
    {"torch.inference_mode", "__torch__.torch.autograd.grad_mode", R"(
class inference_mode:
  mode : bool
  def __init__(self, mode: bool = True) -> None:
    self.mode = mode
  def __enter__(self) -> None:
    ops.cresset.enter_inference_mode(self.mode)
  def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    ops.cresset.exit_inference_mode()
)",
     kPortableInferenceMode.substr(1)},
    {"torch._assert", "__torch__.torch", R"(
def _assert(condition: Union[bool, Tensor], message: str) -> None:
  if isinstance(condition, Tensor):
    assert bool(condition), message
  else:
    assert condition, message
)"},
    {"torch._check", "__torch__.torch", R"(
def _check(cond: bool, message: str = "") -> None:
  assert cond, message
)"},
    {"torch.nn.modules.utils._list_with_default", "__torch__.torch.nn.modules.utils", R"(
def _list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:
  if len(defaults) <= len(out_size):
    raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
  return out_size
)"},
    {"torch.nn.functional.assert_int_or_pair", "__torch__.torch.nn.functional", R"(
def assert_int_or_pair(arg: List[int], arg_name: str, message: str) -> None:
  pass
)"},
    {"torch.nn.functional.relu", "__torch__.torch.nn.functional", R"(
def relu(input: Tensor, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.relu_(input)
  return torch.relu(input)
)"},
    {"torch.nn.functional.relu6", "__torch__.torch.nn.functional", R"(
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.relu6_(input)
  return torch.relu6(input)
)"},
    {"torch.nn.functional.silu", "__torch__.torch.nn.functional", R"(
def silu(input: Tensor, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.silu_(input)
  return torch.silu(input)
)"},
    {"torch.nn.functional.mish", "__torch__.torch.nn.functional", R"(
def mish(input: Tensor, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.mish_(input)
  return torch.mish(input)
)"},
    {"torch.nn.functional.hardswish", "__torch__.torch.nn.functional", R"(
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.hardswish_(input)
  return torch.hardswish(input)
)"},
    {"torch.nn.functional.elu", "__torch__.torch.nn.functional", R"(
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.elu_(input, alpha)
  return torch.elu(input, alpha)
)"},
    {"torch.nn.functional.leaky_relu", "__torch__.torch.nn.functional", R"(
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
  if inplace:
    return torch.leaky_relu_(input, negative_slope)
  return torch.leaky_relu(input, negative_slope)
)"},
    {"torch.nn.functional.hardtanh", "__torch__.torch.nn.functional", R"(
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
  if min_val > max_val:
    raise ValueError("min_val cannot be greater than max_val")
  if inplace:
    return torch.hardtanh_(input, min_val, max_val)
  return torch.hardtanh(input, min_val, max_val)
)"},
    {"torch.nn.functional.dropout", "__torch__.torch.nn.functional", R"(
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
  if p < 0.0 or p > 1.0:
    raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
  if inplace:
    return torch.dropout_(input, p, training)
  return torch.dropout(input, p, training)
)"},
    {"cresset.equal_length", "__torch__.cresset", R"(
def equal_length(lengths: List[int]) -> int:
  for i in range(1, len(lengths)):
    if lengths[i] != lengths[0]:
      relation = "shorter" if lengths[i] < lengths[0] else "longer"
      others = "argument 1" if i == 1 else "arguments 1-" + str(i)
      raise ValueError("zip() argument " + str(i + 1) + " is " + relation + " than " + others)
  return lengths[0]
)"},
    {"torch.nn.functional.tanh", "__torch__.torch.nn.functional", R"(
def tanh(input: Tensor) -> Tensor:
  return torch.tanh(input)
)"},
    {"torch.nn.functional.sigmoid", "__torch__.torch.nn.functional", R"(
def sigmoid(input: Tensor) -> Tensor:
  return torch.sigmoid(input)
)"},
};

#undef PORTABLE_AUTOCAST

const Entry* findEntry(const std::string& full_name) {
  for (const Entry& entry : kEntries) {
    if (entry.name == full_name) return &entry;
  }
  return nullptr;
}

c10::QualifiedName qualifiedName(const Entry& entry) {
  return c10::QualifiedName(
      c10::QualifiedName(std::string(entry.home)), std::string(entry.name.substr(entry.name.rfind('.') + 1)));
}

/// The entry whose class stands in archives under this name, which may be mangled, with a text of its own.
const Entry* findPortable(const c10::QualifiedName& name) {
  std::string plain;
  for (const std::string& atom : name.atoms()) {
    if (!atom.starts_with("___torch_mangle_")) plain += (plain.empty() ? "" : ".") + atom;
  }
  for (const Entry& entry : kEntries) {
    if (!entry.portable.empty() && qualifiedName(entry).qualifiedName() == plain) return &entry;
  }
  return nullptr;
}

void define(const Entry& entry, Program& program) {
  DefineOptions options;
  options.prefix = c10::QualifiedName(std::string(entry.home));
  // The leading line break of the raw string is left out, so that line numbers start at the text.
  auto source = std::make_shared<Source>(std::string(entry.code.substr(1)), std::string(entry.name));
  defineSource(program, std::move(source), options);
}

}  // namespace

bool isPreludeMember(const std::string& full_name) {
  return findEntry(full_name) != nullptr;
}

std::string_view portableClass(const c10::QualifiedName& name) {
  const Entry* entry = findPortable(name);
  return entry ? entry->portable : std::string_view();
}

c10::TypePtr classOfPortable(const c10::QualifiedName& name, Program& program) {
  const Entry* entry = findPortable(name);
  if (!entry) return nullptr;
  Program& library = libraryOf(program);
  if (!library.findType(qualifiedName(*entry))) define(*entry, library);
  return library.findType(qualifiedName(*entry));
}

SugaredValuePtr preludeMember(const std::string& full_name, const SourceRange& range, EmitContext& cx) {
  const Entry* entry = findEntry(full_name);
  if (!entry) return nullptr;
  const c10::QualifiedName name = qualifiedName(*entry);
  Program& library = libraryOf(cx.program);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto type = library.findType(name)) return valueOfType(type);
    if (Function* function = library.findFunction(name)) return std::make_shared<FunctionValue>(function);
    define(*entry, library);
  }
  CRESSET_CHECK(false, "the prelude's text for " + full_name + " does not define it");
  return nullptr;
}

}  // namespace cresset
