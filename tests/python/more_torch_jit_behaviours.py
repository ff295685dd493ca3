"""More rows of torch_jit_behaviours.py: programs as text, and what torch.jit says of wrong ones."""

import io
import pickle
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch_jit_behaviours import Sub, X, row, tries

# ruff: noqa: UP006, UP007, UP035

#: Programs that torch.jit refuses, or that raise when they are called with what stands beside them: name, text, arguments.
TEXTS = {
    "text_wrong_operand": ("def f(x: int):\n  return x + 'a'\n", None),
    "text_unknown_name": ("def f(x: int):\n  return y\n", None),
    "text_unknown_function": ("def f(x: int):\n  return g(x)\n", None),
    "text_unknown_method": ("def f(x):\n  return x.nothing()\n", None),
    "text_unknown_torch_function": ("def f(x):\n  return torch.nothing(x)\n", None),
    "text_unknown_list_method": ("def f(x: List[int]):\n  return x.nothing()\n", None),
    "text_unknown_str_method": ("def f(x: str):\n  return x.nothing()\n", None),
    "text_attribute_of_int": ("def f(x: int):\n  return x.nothing\n", None),
    "text_attribute_of_tuple": ("def f(x: Tuple[int, int]):\n  return x.nothing\n", None),
    "text_call_of_int": ("def f(x: int):\n  return x(1)\n", None),
    "text_call_of_tensor": ("def f(x):\n  return x(1)\n", None),
    "text_too_many_arguments": ("def g(x: int):\n  return x\ndef f(x: int):\n  return g(x, x)\n", None),
    "text_missing_argument": ("def g(x: int, y: int):\n  return x\ndef f(x: int):\n  return g(x)\n", None),
    "text_unknown_keyword": ("def g(x: int):\n  return x\ndef f(x: int):\n  return g(x=x, y=x)\n", None),
    "text_wrong_argument": ("def g(x: int):\n  return x\ndef f(x: str):\n  return g(x)\n", None),
    "text_operator_wrong_argument": ("def f(x):\n  return torch.sum(x, dim='a')\n", None),
    "text_operator_unknown_keyword": ("def f(x):\n  return torch.relu(x, inplace=True)\n", None),
    "text_operator_too_many": ("def f(x):\n  return torch.relu(x, x)\n", None),
    "text_mixed_keys": ("def f(x: int):\n  return {'a': 1, 2: 3}\n", None),
    "text_dict_of_tensors_keys": ("def f(x):\n  return {x: 1}\n", None),
    "text_dict_of_lists_keys": ("def f(x: List[int]):\n  return {x: 1}\n", None),
    "text_empty_list_of_tensors": ("def f():\n  return []\n", [()]),
    "text_reassigned_type": ("def f(x: int):\n  x = 'a'\n  return x\n", None),
    "text_reassigned_in_loop": ("def f(n: int):\n  x = 1\n  for i in range(n):\n    x = 'a'\n  return x\n", None),
    "text_defined_in_loop": ("def f(n: int):\n  for i in range(n):\n    y = i\n  return y\n", None),
    "text_if_of_list": ("def f(x: List[int]):\n  if x:\n    return 1\n  return 2\n", None),
    "text_if_of_str": ("def f(x: str):\n  if x:\n    return 1\n  return 2\n", None),
    "text_if_of_int": ("def f(x: int):\n  if x:\n    return 1\n  return 2\n", [(3,), (0,)]),
    "text_if_of_float": ("def f(x: float):\n  if x:\n    return 1\n  return 2\n", [(3.0,), (0.0,)]),
    "text_if_of_tensor": (
        "def f(x):\n  if x:\n    return 1\n  return 2\n",
        [(torch.ones(1),), (torch.zeros(()),), (X,)],
    ),
    "text_while_of_str": ("def f(x: str):\n  while x:\n    x = ''\n  return 2\n", None),
    "text_not_of_list": ("def f(x: List[int]):\n  return not x\n", None),
    "text_and_of_ints": ("def f(x: int, y: int):\n  return x and y\n", None),
    "text_ternary_types": ("def f(x: bool):\n  return 1 if x else 'a'\n", None),
    "text_compare_chain": ("def f(x: int, y: int):\n  return 0 < x < y\n", None),
    "text_compare_str_int": ("def f(x: str):\n  return x < 3\n", None),
    "text_in_of_int": ("def f(x: int):\n  return 1 in x\n", None),
    "text_in_of_lists": ("def f(x: List[int]):\n  return 1 in x, 5 not in x\n", [([1, 2],)]),
    "text_in_of_str": ("def f(x: str):\n  return 'a' in x, 'b' not in x\n", [("abc",)]),
    "text_is_of_ints": ("def f(x: int):\n  return x is 3\n", None),
    "text_subscript_of_int": ("def f(x: int):\n  return x[0]\n", None),
    "text_subscript_of_str": ("def f(x: str):\n  return x[0], x[-1], x[1:]\n", [("abc",)]),
    "text_list_by_str": ("def f(x: List[int]):\n  return x['a']\n", None),
    "text_list_by_float": ("def f(x: List[int]):\n  return x[1.5]\n", None),
    "text_dict_by_int": ("def f(x: Dict[str, int]):\n  return x[1]\n", None),
    "text_dict_missing_key": ("def f(x: Dict[str, int]):\n  return x['b']\n", [({"a": 1},)]),
    "text_list_index_out_of_range": ("def f(x: List[int], i: int):\n  return x[i]\n", [([1], 1), ([1], -2), ([1], -1)]),
    "text_tuple_by_variable": ("def f(x: Tuple[int, str], i: int):\n  return x[i]\n", None),
    "text_tuple_by_variable_of_one_type": (
        "def f(x: Tuple[int, int], i: int):\n  return x[i]\n",
        [((1, 2), 1), ((1, 2), 5)],
    ),
    "text_tuple_out_of_range": ("def f(x: Tuple[int, int]):\n  return x[2]\n", None),
    "text_tuple_assigned": ("def f(x: Tuple[int, int]):\n  x[0] = 1\n  return x\n", None),
    "text_str_assigned": ("def f(x: str):\n  x[0] = 'a'\n  return x\n", None),
    "text_unpack_too_many": ("def f(x: Tuple[int, int]):\n  a, b, c = x\n  return a\n", None),
    "text_unpack_too_few": ("def f(x: Tuple[int, int, int]):\n  a, b = x\n  return a\n", None),
    "text_unpack_list": ("def f(x: List[int]):\n  a, b = x\n  return a + b\n", [([1, 2],), ([1],)]),
    "text_unpack_int": ("def f(x: int):\n  a, b = x\n  return a\n", None),
    "text_unpack_tensor": ("def f(x):\n  a, b = x\n  return a - b\n", [(X,), (X[:1],)]),
    "text_return_in_loop": (
        "def f(x: List[int]):\n  for i in x:\n    if i > 1:\n      return i\n  return 0\n",
        [([1, 2, 3],), ([],)],
    ),
    "text_missing_return": ("def f(x: int) -> int:\n  if x > 1:\n    return x\n", None),
    "text_no_return": ("def f(x: int) -> int:\n  y = x\n", None),
    "text_returns_none": ("def f(x: int):\n  y = x\n", [(1,)]),
    "text_return_wrong_type": ("def f(x: int) -> List[str]:\n  return [x]\n", None),
    "text_unknown_type": ("def f(x: Nothing):\n  return x\n", None),
    "text_unknown_generic": ("def f(x: Set[int]):\n  return x\n", None),
    "text_list_without_element": ("def f(x: List):\n  return x\n", None),
    "text_dict_wrong_key": ("def f(x: Dict[List[int], int]):\n  return x\n", None),
    "text_augmented_wrong": ("def f(x: int):\n  x += 'a'\n  return x\n", None),
    "text_augmented_list": ("def f(x: List[int]):\n  x += [1]\n  x *= 2\n  return x\n", [([5],)]),
    "text_augmented_undefined": ("def f(x: int):\n  y += x\n  return y\n", None),
    "text_power_of_ints": ("def f(x: int, y: int):\n  return x ** y\n", [(2, 3), (2, -1)]),
    "text_division_by_zero": ("def f(x: int):\n  return 1 // x\n", [(0,), (2,)]),
    "text_modulo_by_zero": ("def f(x: float):\n  return 1.5 % x\n", [(0.7,)]),
    "text_true_division_by_zero": ("def f(x: float):\n  return 1.0 / x\n", [(0.0,)]),
    "text_shift": ("def f(x: int, y: int):\n  return x << y, x >> y, x & y, x | y, x ^ y, ~x\n", [(5, 2)]),
    "text_matmul_of_ints": ("def f(x: int):\n  return x @ x\n", None),
    "text_minus_of_str": ("def f(x: str):\n  return -x\n", None),
    "text_invert_of_float": ("def f(x: float):\n  return ~x\n", None),
    "text_int_of_str": ("def f(x: str):\n  return int(x) + 1\n", [("12",)]),
    "text_float_of_str": ("def f(x: str):\n  return float(x)\n", [("1.5",), ("inf",)]),
    "text_str_of_values": (
        "def f(x: int, y: float, z: bool, w: Optional[int]):\n  return str(x), str(y), str(z), str(w)\n",
        [(1, 2.5, True, None)],
    ),
    "text_bool_of_list": ("def f(x: List[int]):\n  return bool(x)\n", None),
    "text_len_of_int": ("def f(x: int):\n  return len(x)\n", None),
    "text_len_of_tensor": ("def f(x):\n  return len(x)\n", [(X,), (torch.ones(()),)]),
    "text_range_three": (
        "def f(n: int):\n  t = 0\n  for i in range(n, 0, -2):\n    t = t * 10 + i\n  return t\n",
        [(7,)],
    ),
    "text_range_step_zero": ("def f(n: int):\n  for i in range(0, n, 0):\n    pass\n  return n\n", [(3,)]),
    "text_range_of_floats": ("def f(n: float):\n  for i in range(n):\n    pass\n  return n\n", None),
    "text_min_max": (
        "def f(a: int, b: int, xs: List[int]):\n  return min(a, b), max(a, b), min(xs), max(xs)\n",
        [(1, 2, [3, 1]), (1, 2, [])],
    ),
    "text_min_of_types": ("def f(a: int, b: str):\n  return min(a, b)\n", None),
    "text_abs_round": (
        "def f(x: float, n: int):\n  return abs(x), round(x), abs(n), pow(n, 2), divmod(n, 2)\n",
        [(-2.5, -7)],
    ),
    "text_sum_any_all": (
        "def f(xs: List[int], bs: List[bool]):\n  return sum(xs), any(bs), all(bs)\n",
        [([1, 2], [True, False]), ([], [])],
    ),
    "text_sorted": ("def f(xs: List[str]):\n  return sorted(xs, reverse=True), sorted([3, 1])\n", [(["b", "a", "c"],)]),
    "text_ord_chr": ("def f(s: str):\n  return ord(s), chr(ord(s) + 1), hex(255), oct(8), bin(5)\n", [("a",)]),
    "text_hash_of_str": ("def f(s: str):\n  return hash(s) == hash(s)\n", [("a",)]),
    "text_list_of_tuple": ("def f(x: Tuple[int, int]):\n  return list(x)\n", [((1, 2),)]),
    "text_list_of_str": ("def f(x: str):\n  return list(x)\n", [("ab",)]),
    "text_list_of_dict": ("def f(x: Dict[str, int]):\n  return list(x), list(x.values())\n", [({"a": 1, "b": 2},)]),
    "text_list_of_int": ("def f(x: int):\n  return list(x)\n", None),
    "text_dict_of_pairs": ("def f(x: List[Tuple[str, int]]):\n  return dict(x)\n", [([("a", 1)],)]),
    "text_tuple_of_list": ("def f(x: List[int]):\n  return tuple(x)\n", None),
    "text_tuples_added": ("def f(x: Tuple[int, int], y: Tuple[str]):\n  return x + y\n", None),
    "text_tuples_compared": ("def f(x: Tuple[int, int], y: Tuple[int, int]):\n  return x == y, x != y\n", None),
    "text_strings_multiplied": ("def f(s: str, n: int):\n  return s * n, s + s, s == s, s < 'b'\n", [("a", 3)]),
    "text_string_of_lines": (
        "def f(s: str):\n  return s.splitlines(), s.split(), s.partition('b'), s.replace('a', 'c', 1)\n",
        [("ab\nab c",)],
    ),
    "text_string_tests": (
        "def f(s: str):\n  return s.isdigit(), s.isalpha(), s.islower(), s.isspace(), s.isidentifier(), s.count('a')\n",
        [("abc",), ("12",)],
    ),
    "text_optional_list": (
        "def f(x: Optional[List[int]]):\n  if x is None:\n    return 0\n  return len(x)\n",
        [(None,), ([1, 2],)],
    ),
    "text_optional_compared": ("def f(x: Optional[int]):\n  return x == 1\n", None),
    "text_none_assigned": ("def f(c: bool):\n  x = None\n  if c:\n    x = 1\n  return x\n", None),
    "text_assert_none": ("def f(x: Optional[int]):\n  assert x is not None\n  return x + 1\n", [(1,), (None,)]),
    "text_complex": ("def f(x: complex):\n  return x * 2j, x.real, x.imag, abs(x)\n", [(1 + 2j,)]),
    "text_ints_and_floats": (
        "def f(x: int, y: float):\n  return x + y, x * y, x / 2, x // y, x == y, x < y\n",
        [(3, 2.0)],
    ),
    "text_tensor_and_numbers": (
        "def f(x):\n  return x + 1, 1 - x, x / 2, 2 ** x, x // 2, x % 2, -x, x == 1, x > 1.5\n",
        [(X,)],
    ),
    "text_tensor_slices": (
        "def f(x):\n  return x[0], x[:, 1], x[..., -1], x[None], x[1:, ::2], x[[0, 1], [1, 2]]\n",
        [(X,)],
    ),
    "text_tensor_by_tensor": ("def f(x, i):\n  return x[i], x[x > 2], x[:, i]\n", [(X, torch.tensor([1, 0]))]),
    "text_tensor_too_many_indices": ("def f(x):\n  return x[0, 0, 0]\n", [(X,)]),
    "text_tensor_index_out_of_range": ("def f(x):\n  return x[5]\n", [(X,)]),
    "text_tensor_attributes": (
        "def f(x):\n  return x.shape, x.dtype, x.ndim, x.device, x.requires_grad, x.is_cuda, x.T, x.grad, x.layout\n",
        [(X,)],
    ),
    "text_sizes": (
        "def f(x):\n  a, b = x.shape\n  return a, b, x.size(0), x.size(-1), x.size(), x.numel(), x.dim()\n",
        [(X,), (X[0],)],
    ),
    "text_size_out_of_range": ("def f(x):\n  return x.size(4)\n", [(X,)]),
    "text_item": ("def f(x):\n  return x.sum().item(), int(x[0, 1]), float(x[0, 1]), bool(x[0, 0])\n", [(X,)]),
    "text_item_of_many": ("def f(x):\n  return int(x)\n", [(X,)]),
    "text_tolist": ("def f(x):\n  y: List[List[float]] = x.tolist()\n  return y\n", [(X,), (X[0],)]),
    "text_tolist_unannotated": ("def f(x):\n  return x.tolist()\n", None),
    "text_tensor_of_lists": (
        "def f(n: int):\n  return torch.tensor([[1, n], [3, 4]]), torch.tensor(1.5), torch.tensor([True])\n",
        [(2,)],
    ),
    "text_tensor_of_ragged": (
        "def f(x: List[List[int]]):\n  return torch.tensor(x)\n",
        [([[1], [2, 3]],), ([[1], [2]],)],
    ),
    "text_tensor_of_strings": ("def f(x: List[str]):\n  return torch.tensor(x)\n", None),
    "text_del_undefined": ("def f(x: int):\n  del y\n  return x\n", None),
    "text_pass": ("def f(x: int):\n  pass\n  return x\n", [(1,)]),
    "text_docstring": ("def f(x: int):\n  'what it does'\n  return x\n", [(1,)]),
    "text_nested_function": ("def f(x: int):\n  def g(y: int):\n    return y\n  return g(x)\n", None),
    "text_syntax": ("def f(x: int):\n  return x +\n", None),
    "text_unclosed": ("def f(x: int):\n  return (x\n", None),
    "text_indentation": ("def f(x: int):\nreturn x\n", None),
    "text_class_in_text": (
        "class A:\n  def __init__(self, x: int):\n    self.x = x\ndef f(x: int):\n  return A(x).x\n",
        None,
    ),
    "text_default_of_list": ("def f(x: int, y: List[int]=[1, 2]):\n  return x + len(y)\n", [(1,)]),
    "text_duplicate_argument": ("def f(x: int, x: int):\n  return x\n", None),
    "text_long_number": ("def f():\n  return 99999999999999999999\n", None),
    "text_floats": ("def f():\n  return 1e3, .5, 1., 0x10, 1_000, 1e-40, 3j\n", [()]),
    "text_strings": ("def f():\n  return 'a\\n\\t\\x41\\u00e9', \"b'\", 'a' 'b'\n", [()]),
    "text_print": (
        "def f(x: int, y: float, z: List[str]):\n  print(x, y, z, None, (1, 'a'), {'k': 1.5})\n",
        [(1, 2.0, ["a"])],
    ),
    "text_two_functions_one_name": ("def f(x: int):\n  return x\ndef f(x: int):\n  return x + 1\n", None),
}


def _add(name, text, calls):
    def run(J):
        f = J.CompilationUnit(text).f
        if calls is None:
            return "compiled"
        return tries(f, *(_copied(args) for args in calls))

    run.__name__ = name
    row("script")(run)


def _copied(value):
    """Arguments of their own for each call, which may write to them."""
    if isinstance(value, torch.Tensor):
        return value.clone()
    return pickle.loads(pickle.dumps(value)) if not isinstance(value, tuple) else tuple(_copied(each) for each in value)


for _name, (_text, _calls) in TEXTS.items():
    _add(_name, _text, _calls)


# Modules, traces, frozen modules, files.


@row("module")
def module_repr(J):
    return repr(J.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))).replace("\n", "")


@row("module")
def module_named(J):
    m = J.script(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    return (
        [name for name, _ in m.named_parameters()],
        [name for name, _ in m.named_buffers()],
        [name for name, _ in m.named_modules()],
        [name for name, _ in m.named_children()],
    )


@row("module")
def module_original_name(J):
    m = J.script(Sub())
    return m.original_name, J.script(nn.Linear(2, 2)).original_name


@row("module")
def classes_of_traced_modules(J):
    inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    m = J.trace(nn.Sequential(inner, nn.Linear(2, 2)), torch.ones(1, 2))
    methods = J.trace_module(nn.Sequential(inner), {"forward": torch.ones(1, 2)})
    holder = J.script(nn.Sequential(m, nn.ReLU()))
    loaded = J.load(io.BytesIO(m.save_to_buffer()))
    kinds = [type(each).__name__ for top in (m, methods, holder, loaded) for each in top.modules()]
    tests = [
        isinstance(each, kind)
        for each in (m, next(m.children()), loaded)
        for kind in (J.TopLevelTracedModule, J.TracedModule, J.ScriptModule, J.RecursiveScriptModule)
    ]
    return (
        kinds,
        tests,
        str(m),
        str(holder),
        str(loaded),
        m._get_name(),
        [type(each).__name__ for each in J.freeze(m.eval()).modules()],
    )


@row("module")
def module_buffers_written(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count += 1
            return x + self.count

    m = J.script(M())
    return m(X), m(X), m.count, m.state_dict()


@row("module")
def module_attributes_set(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 1
            self.names = ["a"]

        def forward(self, x: int):
            self.n += x
            self.names.append(str(x))
            return self.n, self.names

    m = J.script(M())
    m(3)
    m.n = 10
    return m(2), m.n, m.names


@row("module")
def module_optional_submodule(J):
    class M(nn.Module):
        def __init__(self, sub):
            super().__init__()
            self.sub = sub

        def forward(self, x):
            if self.sub is not None:
                x = self.sub(x)
            return x

    return J.script(M(None))(X), J.script(M(Sub()))(X)


@row("module")
def module_deepcopied(J):
    import copy

    m = J.script(Sub())
    c = copy.deepcopy(m)
    with torch.no_grad():
        c.w.add_(1)
    return m(X), c(X)


@row("module")
def module_calls_method_with_keywords(J):
    class M(nn.Module):
        def helper(self, x, k: int = 2, *, n: int = 3):
            return x * k + n

        def forward(self, x):
            return self.helper(x), self.helper(x, n=1), self.helper(k=5, x=x)

    return J.script(M())(X)


@row("module")
def module_recursion(J):
    class M(nn.Module):
        def forward(self, x: int) -> int:
            return self.g(x)

        def g(self, x: int) -> int:
            if x > 0:
                return self.h(x - 1)
            return x

        def h(self, x: int) -> int:
            return x * 2

    return J.script(M())(3)


@row("trace")
def trace_of_views(J):
    return J.trace(lambda x: (x.view(3, 2), x.t(), x[0], x.reshape(-1), x.expand(1, 2, 3)), X)(X + 1)


@row("trace")
def trace_of_in_place(J):
    def f(x):
        y = x * 2
        y.add_(1)
        y[0] = 0
        return y

    return J.trace(f, X)(X + 1)


@row("trace")
def trace_of_indexing(J):
    def f(x, i):
        return x[i], x[:, i], x.index_select(0, i), x[x > 1]

    return J.trace(f, (X, torch.tensor([0, 1])))(X, torch.tensor([1, 1]))


@row("trace")
def trace_of_loop(J):
    def f(x):
        for i in range(3):
            x = x + i
        return x

    return J.trace(f, X).code.count("torch.add")


@row("trace")
def trace_of_none(J):
    return J.trace(lambda x: None, X)


@row("trace")
def trace_of_number_result(J):
    return J.trace(lambda x: 3, X)


@row("trace")
def trace_of_optional_input(J):
    return J.trace(lambda x, y: x, (X, None))


@row("trace")
def trace_of_dict_input(J):
    f = J.trace(lambda d: d["a"] + d["b"], ({"a": X, "b": X},))
    return f({"a": X + 1, "b": X})


@row("trace")
def trace_gradients(J):
    f = J.trace(lambda x: (x * x).sum(), X)
    x = X.clone().requires_grad_()
    return torch.autograd.grad(f(x), x)


@row("trace")
def trace_module_state(J):
    m = J.trace(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).eval(), X)
    return sorted(m.state_dict()), m.training, len(list(m.parameters()))


@row("trace")
def trace_dropout_in_training(J):
    m = J.trace(nn.Dropout(0.0), X)
    return m(X)


@row("freeze")
def freeze_conv_bn(J):
    torch.manual_seed(2)
    m = J.freeze(J.script(nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2)).eval()))
    kinds = [node.kind() for node in m.graph.nodes() if node.kind().startswith("aten")]
    return kinds, m(torch.ones(1, 1, 4, 4)).shape


@row("freeze")
def freeze_folds_numbers(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.n = 3

        def forward(self, x):
            if self.n > 2:
                return x + self.n * 2
            return x

    m = J.freeze(J.script(M().eval()))
    return [node.kind() for node in m.graph.nodes() if node.kind() != "prim::Constant"], m(X)


@row("freeze")
def freeze_of_lists(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.xs = [1, 2, 3]
            self.d = {"a": torch.ones(3)}

        def forward(self, x):
            return x + self.xs[1] + self.d["a"]

    m = J.freeze(J.script(M().eval()))
    return m(X), hasattr(m, "xs")


@row("freeze")
def freeze_shared_parameter(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.ones(3))
            self.b = self.a

        def forward(self, x):
            return x * self.a + self.b

    m = J.freeze(J.script(M().eval()))
    return m(X), list(m.state_dict())


@row("freeze")
def freeze_module_without_forward(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.k = 2

        @J.export
        def g(self, x):
            return x * self.k

    return tries(lambda: J.freeze(J.script(M().eval()), ["g"]).g(X), ())


@row("save")
def save_twice(J):
    m = J.script(Sub())
    a, b = io.BytesIO(), io.BytesIO()
    J.save(m, a)
    J.save(m, b)
    a.seek(0)
    return len(a.getvalue()) == len(b.getvalue()), J.load(a)(X)


@row("save")
def save_keeps_training(J):
    buffer = io.BytesIO()
    J.save(J.script(nn.Dropout(0.5)).eval(), buffer)
    buffer.seek(0)
    m = J.load(buffer)
    return m.training, m(X)


@row("save")
def save_shared_tensors(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.zeros(4))
            self.register_buffer("b", self.a[1:3])

        def forward(self):
            self.a.add_(1)
            return self.b

    buffer = io.BytesIO()
    J.save(J.script(M()), buffer)
    buffer.seek(0)
    return J.load(buffer)()


@row("save")
def save_attributes(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.d: Dict[str, List[int]] = {"a": [1]}
            self.o: Optional[Tensor] = None
            self.t: Tuple[int, str] = (1, "b")

        def forward(self):
            return self.d, self.o, self.t

    buffer = io.BytesIO()
    J.save(J.script(M()), buffer)
    buffer.seek(0)
    return J.load(buffer)()


@row("graph")
def graph_inputs_and_outputs(J):
    g = J.CompilationUnit("def f(x, n: int):\n  return x + n\n").f.graph
    return (
        [str(value.type()) for value in g.inputs()],
        [str(value.type()) for value in g.outputs()],
        g.findNode("aten::add").schema(),
        g.findNode("prim::Constant").schema(),
        g.findNode("aten::mul"),
    )


@row("graph")
def graph_blocks(J):
    g = J.CompilationUnit("def f(x: int):\n  if x > 1:\n    x = x + 1\n  return x\n").f.graph
    node = g.findNode("prim::If")
    return [[n.kind() for n in block.nodes()] for block in node.blocks()], node.inputsSize(), node.outputsSize()


@row("graph")
def graph_edits_run(J):
    f = J.CompilationUnit("def f(x):\n  return x + 1\n").f
    g = f.graph
    next(iter(g.outputs())).node().output().replaceAllUsesWith(next(iter(g.inputs())))
    return f(torch.ones(1)).tolist(), "aten::add" in str(f.graph), f.code


@row("graph")
def graph_edits_after_the_first_run(J):
    f = J.CompilationUnit("def f(x):\n  return x + 1\n").f
    first = [f(torch.ones(1)).tolist() for _ in range(4)]
    g = f.graph
    next(iter(g.outputs())).node().output().replaceAllUsesWith(next(iter(g.inputs())))
    return first, f(torch.ones(1)).tolist(), f.code


@row("graph")
def graph_compared_with_types(J):
    value = next(iter(J.CompilationUnit("def f(x: List[int]):\n  return x\n").f.graph.inputs()))
    ints = torch._C.ListType(torch._C.IntType.get())
    return value.type() == ints, value.type().isSubtypeOf(ints), value.type() == torch._C.TensorType.get()


@row("graph")
def graph_edited(J):
    g = J.CompilationUnit("def f(x):\n  return x + 1\n").f.graph.copy()
    node = g.findNode("aten::add")
    new = g.create("aten::relu", [list(node.inputs())[0]], 1)
    new.insertBefore(node)
    node.replaceInputWith(list(node.inputs())[0], new.output())
    g.lint()
    return [n.kind() for n in g.nodes() if n.kind().startswith("aten")]


class Scales(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        return x * self.weight


@row("script")
def module_of_python_called(J):
    scales = Scales()

    def f(x):
        return scales(x) + 1

    f = J.script(f)
    first = f(X)
    with torch.no_grad():
        scales.weight.mul_(2)
    return first, f(X), [n.kind() for n in f.graph.nodes() if n.kind() == "prim::PythonOp"]


@row("script")
def object_of_python_called(J):
    class Adds:
        def __init__(self):
            self.calls = 0

        @J.ignore
        def __call__(self, *args) -> str:
            self.calls += 1
            return f"{type(args[0]).__name__} {args[1]} {self.calls}"

    adds = Adds()

    def f(x):
        return adds(x, 2), adds(x, 3)

    return J.script(f)(X)


@row("script")
def tensor_getitem_by_tensor(J):
    def f(x, i):
        return x.__getitem__(i)

    return tries(J.script(f), (X, torch.tensor([1, 0])), (X, X > 2), (X, torch.tensor([5])))


@row("module")
def module_defines_what_its_methods_call(J):
    class M(J.ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2))
            self.define("def hi(self, a):\n  return self.low(a) + self.weight.sum()\n")
            self.define("def low(self, a):\n  return a * 2\n")

        @J.script_method
        def forward(self, x):
            return self.hi(x) + 1

    m = M()
    return m(X), m.low(X)


@row("save")
def load_of_meta_tensors_with_map_location(J):
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 3, device="meta")
            self.b = nn.Linear(2, 3)

        def forward(self, x):
            return self.b(x)

    buffer = io.BytesIO()
    J.save(J.script(M()), buffer)
    loaded = J.load(io.BytesIO(buffer.getvalue()), map_location="cpu")
    return [(name, str(p.device), p.shape, p.stride()) for name, p in loaded.named_parameters()], loaded(
        torch.ones(2)
    ).shape


@row("script")
def seed_after_the_first_use_of_dynamo(J):
    import torch._dynamo  # noqa: F401  (it puts a function of its own in the place of torch.manual_seed)

    def f():
        torch.manual_seed(3)
        return torch.rand(2)

    return J.script(f)()


@row("module")
def module_sets_an_attribute_that_it_lacks(J):
    class M(nn.Module):
        def forward(self, x):
            self.y = x
            return x

    return J.script(M())


@row("script")
def function_gets_a_tuple_for_a_tensor(J):
    def f(x):
        a, *b = x.shape
        c, d = x.unbind(0)
        return a, b, c - d

    return J.script(f)(X)
