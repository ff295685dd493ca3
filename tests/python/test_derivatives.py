"""Every derivative rule: in a region, bit-equal to autograd where it can be, and right to the second order.

Each operator of the table of rules is called by a script with arguments from op_db (or from the list below), so that the
call stands in a differentiable region; the tape must not have recorded the operator itself.
"""

import copy

import pytest
import sampling
import torch
from derivative_calls import CALLS, COMPOSITES, INDEX, MASK, OPERATORS, NotDifferentiated, P, X, Y, Z, randn

import cresset
from cresset import _C

#: The first derivatives of fused kernels for normalizations. Their own derivatives are those of autograd, which takes the
#: means and deviations that the first kernel saved for constants, and so are not right.
NORMALIZATIONS = {
    "aten::native_layer_norm_backward",
    "aten::native_batch_norm_backward",
    "aten::_batch_norm_impl_index_backward",
}

#: PyTorch has no second derivative of them, or not the right one.
NOT_TWICE = {"aten::cdist", "aten::hardsigmoid", "cresset::attention"} | NORMALIZATIONS

#: Their first derivatives may differ from autograd's in the last bits.
CLOSE = {
    "aten::gelu_backward",
    "aten::softplus_backward",
    "aten::elu_backward",
    "aten::glu_backward",
    "aten::mse_loss_backward",
    "aten::smooth_l1_loss_backward",
    "aten::huber_loss_backward",
    "aten::cumprod",
    "aten::linalg_svd",  # products of matrices laid out in another way have other last bits on some processors
} | NORMALIZATIONS

#: The same where the derivatives are differentiated again.
CLOSE_IN_GRAPHS = {
    "aten::native_group_norm",
    "aten::mish",
    "aten::svd",
    "aten::linalg_svd",
    "aten::_linalg_svd",
    "aten::linalg_eigh",
    "aten::_linalg_eigh",
}

#: Rules of operators that exact numerics decompose: they run with the default ones, whose bits are Cresset's.
OWN_BITS = {"aten::log_sigmoid"}

#: The same with numbers of 16 bits.
CLOSE_IF_NARROW = {"aten::einsum", "aten::mse_loss_backward"}

#: Calls with such numbers are not taken into regions.
WIDE_ONLY = NORMALIZATIONS

#: Their gradients are laid out in another way than autograd's: rules return zeros where autograd returns none, so that the
#: sum with a gradient that was expanded is not.
STRIDES_DIFFER = {"aten::einsum", "aten::native_layer_norm_backward", "aten::native_batch_norm_backward"}

#: PyTorch's gradients of these calls, and so ours, are no limits of differences: means of operands that are broadcast, rows
#: that are padding, what has no second derivative at zero, one triangle of a matrix that is taken for both.
OTHERWISE = {
    "torch.ops.aten.mse_loss(torch.softmax(a, 1), b)",
    "torch.ops.aten.smooth_l1_loss(torch.softmax(a, 1), b)",
    "torch.ops.aten.huber_loss(torch.softmax(a, 1), b)",
    "torch.embedding(a, i, 2)",
    "torch.sinc(a)",
    "v, q = torch.linalg.eigh(a); q * q",
    "v, q = torch.linalg.eigh(a, 'U'); v",
}

LETTERS = "abcde"


def program(expression, tensors, uses_twice=False):
    """A function of the tensors; operators around the expression make a plan and a region worth making. If each tensor is
    used besides, a gradient of other sizes than the tensor's is not summed up by the leaf that it comes to."""
    *statements, last = expression.split("; ")
    given = {letter: tensor for letter, tensor in zip(LETTERS, tensors, strict=False) if tensor is not None}
    parameters = ", ".join(f"{letter}: Tensor" for letter in given)
    used = "".join(
        f" + {letter}.sum()"
        for letter, tensor in given.items()
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point()
    )
    lines = ["a = a * 0.5", *statements, f"r = {last}", "return r * 2.0 + 1.0"]
    if uses_twice:
        lines = [lines[0], f"used = 0.0{used}", *lines[1:-1], f"{lines[-1]} + used"]
    return f"def f({parameters}, m: Tensor, i: Tensor):\n" + "".join(f"    {line}\n" for line in lines)


CASES = [(name, *call) for name, calls in CALLS.items() for call in calls]


def full_name(node):
    schema = node.operatorSchema()
    if schema is None:
        return node.kind()
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name


def operators(graph):
    """Full names of the operators outside and inside of differentiable regions."""
    outside, inside = set(), set()
    for node in graph.nodes():
        if node.kind() == "prim::DifferentiableGraph":
            inside |= {full_name(inner) for inner in node.g("Subgraph").nodes()}
        else:
            outside.add(full_name(node))
    return outside, inside


def arguments_of(tensors, dtype):
    """Fresh arguments, and those of them that are differentiated."""
    arguments = []
    for tensor in tensors:
        if isinstance(tensor, NotDifferentiated):
            arguments.append(tensor.tensor.to(dtype).clone())
        elif tensor is not None:
            arguments.append(tensor.to(dtype).clone().requires_grad_())
    return arguments, [argument for argument in arguments if argument.requires_grad]


def may_stay_outside(name):
    """Views and lists that leave a region are made again outside."""
    if name == "aten::_grad_sum_to_size":  # no operator of the dispatcher
        return True
    if "hacked_twin" in name or name.startswith("cresset"):
        return False
    schema = torch._C._get_schema(*(name.split(".") if "." in name else (name, "")))
    views = any(result.alias_info is not None for result in schema.returns)
    return views or name in {"aten::reshape", "aten::contiguous", "aten::mul.Scalar", "aten::mul.Tensor"}


def both(expression, tensors, uses_twice=False):
    """The program by Cresset and as Python."""
    text = program(expression, tensors, uses_twice)
    namespace = {"torch": torch}
    # Scripts have this operator only.
    exec(text.replace(": Tensor", "").replace("torch._grad_sum_to_size", "torch.Tensor.sum_to_size"), namespace)
    return cresset.CompilationUnit(text).f, namespace["f"]


def run(function, tensors, dtype, order, create_graph=True):
    """The result, and derivatives of the given order."""
    arguments, wanted = arguments_of(tensors, dtype)
    torch.manual_seed(0)
    result = function(*arguments, MASK, INDEX)
    results = [result]
    for _ in range(order):
        total = sum((r * (r.detach() + 1)).sum() for r in results if r.requires_grad)
        if not isinstance(total, torch.Tensor):
            results = [torch.zeros_like(leaf) for leaf in wanted]
            break
        results = list(torch.autograd.grad(total, wanted, create_graph=create_graph, allow_unused=True))
        results = [torch.zeros_like(a) if r is None else r for r, a in zip(results, wanted, strict=True)]
    return result, results


def numerics_of(name):
    return cresset.options.override(numerics="default" if name in OWN_BITS else "exact")


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_rule(case):
    with numerics_of(CASES[case][0]):
        check_rule(*CASES[case])


def check_rule(name, expression, *tensors):
    script, eager = both(expression, tensors, uses_twice=True)
    seen_inside = set()
    for dtype in (torch.float32, torch.float64):
        for _ in range(2):
            run(script, tensors, dtype, 1)
        before = _C._num_recorded_regions()
        run(script, tensors, dtype, 1)
        assert _C._num_recorded_regions() > before, "no region was recorded"
        for create_graph in (True, False):
            result, gradients = run(script, tensors, dtype, 1, create_graph)
            expected, expected_gradients = run(eager, tensors, dtype, 1, create_graph)
            assert name in OWN_BITS or torch.equal(result, expected)
            torch.testing.assert_close(result, expected, equal_nan=True)
            assert result.stride() == expected.stride()
            for found, wanted in zip(gradients, expected_gradients, strict=True):
                assert found.dtype == wanted.dtype
                if name in CLOSE | OWN_BITS or (create_graph and name in CLOSE_IN_GRAPHS):
                    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
                else:
                    assert torch.allclose(found, wanted, rtol=0, atol=0, equal_nan=True)
                assert found.stride() == wanted.stride() or name in STRIDES_DIFFER
        outside, inside = operators(script.graph_for(*arguments_of(tensors, dtype)[0], MASK, INDEX))
        seen_inside |= inside
        assert name not in outside or may_stay_outside(name)
        for order in (2, 3) if dtype == torch.float64 else (2,):
            try:
                _, wanted = run(eager, tensors, dtype, order)
            except RuntimeError as error:
                assert "derivative for" in str(error)  # PyTorch has none of this order
                break
            _, found = run(script, tensors, dtype, order)
            tolerance = 1e-11 if dtype == torch.float64 else 1e-3
            for a, b in zip(found, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
    assert name in seen_inside, f"{name} is not in a region"


def assert_gradients_of_16_bits(name, expression, tensors, dtype):
    """Whether PyTorch has kernels for the call. If so, it stands in a region, and its first gradients are autograd's."""
    script, eager = both(expression, tensors)
    try:
        run(eager, tensors, dtype, 1)
    except RuntimeError as error:
        assert "not implemented for" in str(error) or "Low precision" in str(error), error
        return False
    for _ in range(3):
        run(script, tensors, dtype, 1)
    for create_graph in (True, False):
        before = _C._num_recorded_regions()
        result, gradients = run(script, tensors, dtype, 1, create_graph)
        assert _C._num_recorded_regions() > before or name in WIDE_ONLY, "no region was recorded"
        expected, expected_gradients = run(eager, tensors, dtype, 1, create_graph)
        assert name in OWN_BITS or torch.equal(result, expected)
        torch.testing.assert_close(result, expected, equal_nan=True)
        assert result.stride() == expected.stride()
        is_close = name in CLOSE | CLOSE_IF_NARROW | OWN_BITS or (create_graph and name in CLOSE_IN_GRAPHS)
        tolerance = 16 * torch.finfo(dtype).eps if is_close else 0
        for found, wanted in zip(gradients, expected_gradients, strict=True):
            assert found.dtype == wanted.dtype
            scale = wanted.abs().max().item() if is_close else 0
            torch.testing.assert_close(found, wanted, rtol=0, atol=tolerance * max(scale, 1), equal_nan=True)
    return True


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_rule_with_16_bits(case):
    name, expression, *tensors = CASES[case]
    with numerics_of(name):
        has_kernels = [
            assert_gradients_of_16_bits(name, expression, tensors, dtype) for dtype in (torch.bfloat16, torch.float16)
        ]
    if not any(has_kernels):
        pytest.skip("PyTorch has no kernels for it")


@pytest.mark.parametrize("case", range(len(CASES)), ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_rule_by_finite_differences(case):
    """Each element of each argument by itself; along one direction where that would take long: second derivatives and,
    in a share of the tests, first ones."""
    name, expression, *tensors = CASES[case]
    script, eager = both(expression, tensors)
    arguments, wanted = arguments_of(tensors, torch.float64)
    for _ in range(2):
        script(*arguments, MASK, INDEX)

    def called(function, differentiated):
        torch.manual_seed(0)
        given = iter(differentiated)
        return function(*(next(given) if a.requires_grad else a for a in arguments), MASK, INDEX)

    def agrees(of, **options):
        is_first = case == 0 or CASES[case - 1][0] != name
        is_small = sum(argument.numel() for argument in wanted) <= 24
        in_parts = sampling.WHOLE or is_small
        if not torch.autograd.gradcheck(lambda *given: called(of, given), wanted, fast_mode=not in_parts, **options):
            return False
        return name in NOT_TWICE or torch.autograd.gradgradcheck(
            lambda *given: called(of, given), wanted, fast_mode=not (is_first and is_small), **options
        )

    if expression in OTHERWISE:
        assert agrees(script, raise_exception=False) == agrees(eager, raise_exception=False)
    else:
        assert agrees(script)


@pytest.mark.parametrize("case", range(len(COMPOSITES)), ids=[c[0] for c in COMPOSITES])
def test_composite(case):
    expression, *tensors = COMPOSITES[case]
    script, eager = both(expression, tensors)
    for dtype in (torch.float32, torch.float64):
        for create_graph in (True, True, True, False):
            before = _C._num_recorded_regions()
            result, gradients = run(script, tensors, dtype, 1, create_graph)
            expected, expected_gradients = run(eager, tensors, dtype, 1, create_graph)
            assert torch.equal(result, expected) and result.stride() == expected.stride()
            for found, wanted in zip(gradients, expected_gradients, strict=True):
                assert torch.equal(found, wanted) and found.dtype == wanted.dtype
        assert _C._num_recorded_regions() > before, "no region was recorded"
        _, found = run(script, tensors, dtype, 2)
        _, wanted = run(eager, tensors, dtype, 2)
        tolerance = 1e-11 if dtype == torch.float64 else 1e-3
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_training_of_a_transformer_layer(dtype):
    torch.manual_seed(0)
    eager = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True).to(dtype)
    script = cresset.script(copy.deepcopy(eager))
    x = torch.randn(2, 5, 16, dtype=dtype)
    for _ in range(4):
        outcomes = []
        before = _C._num_recorded_regions()
        for module in (script, eager):
            torch.manual_seed(1)
            module.zero_grad()
            result = module(x)
            (result**2).sum().backward()
            outcomes.append([result, *(parameter.grad for parameter in module.parameters())])
        for found, wanted in zip(*outcomes, strict=True):
            assert torch.equal(found, wanted)
    assert _C._num_recorded_regions() > before


#: Layers between operators, and the sizes of their arguments.
LAYERS = {
    "convolution": ("torch.conv2d(a, b, c, padding=1)", (2, 3, 4, 5), (4, 3, 3, 3), (4,)),
    "transposed convolution": ("torch.conv_transpose1d(a, b, c, stride=2)", (2, 3, 4), (3, 2, 3), (2,)),
    "layer norm": ("torch.nn.functional.layer_norm(a, [5], b, c)", (3, 5), (5,), (5,)),
    "batch norm": ("torch.nn.functional.batch_norm(a, None, None, b, c, True)", (3, 5), (5,), (5,)),
}


def on_tape(tensor):
    """Names of the nodes of the tape that a tensor's gradient goes through."""
    seen, names, waiting = set(), set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            names.add(node.name())
            waiting += [following for following, _ in node.next_functions]
    return names


@pytest.mark.parametrize("layer", LAYERS)
def test_gradients_of_layers_leave_no_layers_on_the_tape(layer):
    expression, *sizes = LAYERS[layer]
    script = cresset.CompilationUnit(program(f"torch.tanh({expression})", sizes)).f
    arguments = [randn(*each).requires_grad_() for each in sizes]
    for _ in range(3):
        result = script(*arguments, MASK, INDEX)
        gradients = torch.autograd.grad((result**2).sum(), arguments, create_graph=True)
        torch.autograd.grad(sum((gradient**2).sum() for gradient in gradients), arguments)
    names = set.union(*(on_tape(gradient) for gradient in gradients))
    assert "CressetBackward" in names
    assert not any("Conv" in name or "Norm" in name or "Mean" in name for name in names), names


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "expression",
    [
        "torch.tanh(a.to(D).mm(b.to(D))).to(a.dtype) * c",
        "torch.tanh(a.to(D).mm(b.to(D))) * c",
        "torch.softmax(torch.nn.functional.linear(a.to(D), b.t().to(D)), 1, torch.float32) * c + a.to(D).sum()",
        "torch.log_softmax(a.to(D), 1, torch.float32) * c",
        "torch.sum(a.to(D), 1, dtype=torch.float32).unsqueeze(1) * torch.cumsum(b.to(D)[0], 0, dtype=torch.float32)",
        "torch.cumprod(a.to(D), 1, dtype=torch.float32) * torch.prod(b.to(D), dtype=torch.float32)",
        "torch.mean(a.to(D), 1, dtype=torch.float32).unsqueeze(1) * torch.linalg.vector_norm(b.to(D), dtype=torch.float32)",
        "torch.norm(a.to(D), 2, [1], dtype=torch.float32).unsqueeze(1) * c * torch.nansum(b.to(D), dtype=torch.float32)",
        "torch.cat([a.to(D), b.t().to(D)], 0).float().mean(0) * a",
        "torch.cat([a.to(D), b, c.double().unsqueeze(0)], 0) * 2",
        "torch.where(m, a.to(D), c) + torch.lerp(a, c, 0.3).to(D)",
        "torch.stack([a.to(D), a.to(D)]).float() * torch.nn.functional.layer_norm(a.to(D), [4]).float()",
    ],
)
def test_regions_of_several_dtypes(expression, dtype):
    script, eager = both(expression.replace("D", str(dtype)), [X, randn(4, 4), Z])
    for create_graph in (True, True, True, False):
        before = _C._num_recorded_regions()
        result, gradients = run(script, [X, randn(4, 4), Z], torch.float32, 1, create_graph)
        assert _C._num_recorded_regions() > before
        expected, expected_gradients = run(eager, [X, randn(4, 4), Z], torch.float32, 1, create_graph)
        assert torch.equal(result, expected) and result.dtype == expected.dtype
        for found, wanted in zip(gradients, expected_gradients, strict=True):
            assert torch.equal(found, wanted) and found.dtype == wanted.dtype


def assert_first_gradients_are_eagers(expression, *tensors):
    script, eager = both(expression, tensors)
    for create_graph in (True, True, True, False):
        result, gradients = run(script, tensors, torch.float64, 1, create_graph)
        expected, expected_gradients = run(eager, tensors, torch.float64, 1, create_graph)
        assert torch.equal(result, expected)
        for found, wanted in zip(gradients, expected_gradients, strict=True):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize(
    "expression",
    [
        "v, q = torch.linalg.eigh(a); v",
        "torch.linalg.eigvalsh(a)",
        "u, v, w = torch.linalg.svd(a); v",
        "torch.linalg.svdvals(a)",
    ],
)
def test_equal_eigenvalues_have_gradients(expression):
    assert_first_gradients_are_eagers(expression, torch.eye(3, dtype=torch.float64) * 4)


def test_cosine_of_short_vectors():
    assert_first_gradients_are_eagers("torch.cosine_similarity(a, b, 0, 2.5)", randn(3, 4), randn(3, 4, seed=1))


CELLS = {
    "rnn_tanh_cell": ("torch.rnn_tanh_cell(x, h, v, w)", 1),
    "gru_cell": ("torch.gru_cell(x, h, v, w)", 3),
}


@pytest.mark.parametrize("cell", CELLS)
def test_cells_check_sizes(cell):
    call, gates = CELLS[cell]
    weights = [randn(9 * gates, 7).requires_grad_(), randn(9 * gates, 9).requires_grad_()]
    names = "x, h, v, w"
    text = f"def f({names}):\n    x = x * 0.5\n    return torch.tanh({call}) * 2.0 + 1.0\n"
    script = cresset.CompilationUnit(text).f
    for _ in range(3):
        before = _C._num_recorded_regions()
        script(randn(5, 7), randn(5, 9), *weights).sum().backward()
    assert _C._num_recorded_regions() > before
    eager = {"torch": torch}
    exec(text, eager)
    right = ((5, 7), (5, 9))
    for place, sizes in ((0, (5, 6)), (0, (4, 7)), (1, (5, 8)), (1, (1, 9))):
        arguments = [randn(*(sizes if i == place else each)) for i, each in enumerate(right)]
        with pytest.raises(RuntimeError) as expected:
            eager["f"](*arguments, *weights)
        with pytest.raises(RuntimeError) as found:
            script(*arguments, *weights)
        assert str(expected.value) in str(found.value)


@pytest.mark.parametrize(
    "arguments",
    [(randn(3, 1), P[0]), (randn(1, 4), P[0]), (randn(3, 4), P[0, :1]), (INDEX.view(3, 1).expand(3, 4), P[0])],
)
def test_cross_entropy_of_probabilities_checks_its_arguments(arguments):
    text = "def f(x, t, w):\n    return torch.nn.functional.cross_entropy(torch.tanh(x * 2), t, w) * 2.0\n"
    script = cresset.CompilationUnit(text).f
    leaf = X.clone().requires_grad_()
    for _ in range(3):
        before = _C._num_recorded_regions()
        script(leaf, Y.abs(), P[0]).backward()
    assert _C._num_recorded_regions() > before
    eager = {"torch": torch}
    exec(text, eager)
    with pytest.raises((RuntimeError, ValueError)) as expected:
        eager["f"](leaf, *arguments)
    with pytest.raises((RuntimeError, ValueError)) as found:
        script(leaf, *arguments)
    assert str(expected.value) in str(found.value)


def test_every_rule_compiles():
    assert _C._derivatives_that_do_not_compile() == []


def test_every_rule_is_tested():
    assert set(CALLS) == set(OPERATORS)


#: Decompositions are for real numbers: of complex ones PyTorch's kernels conjugate some, and powers keep them.
COMPLEX = [
    ("torch.vdot(x, y)", (4,), torch.complex64, torch.complex64),
    ("torch.linalg.vecdot(x, y)", (4,), torch.complex64, torch.complex64),
    ("torch.linalg.vecdot(x, y)", (3, 4), torch.complex64, torch.complex64),
    ("torch.float_power(x, y)", (4,), torch.complex64, torch.complex64),
    ("torch.float_power(x, y)", (4,), torch.float32, torch.complex64),
    ("torch.float_power(x, y)", (4,), torch.complex64, torch.float32),
    ("torch.float_power(x, 2.0) + y", (4,), torch.complex64, torch.complex64),
    ("torch.float_power(x, 2j) + y", (4,), torch.float32, torch.complex64),
    ("torch.ldexp(x, y.abs().detach()) + y", (4,), torch.complex64, torch.complex64),
    ("torch.logdet(x) + y", (3, 3), torch.complex64, torch.complex64),
    ("torch.det(x) + y", (3, 3), torch.complex64, torch.complex64),
    ("torch.linalg.norm(x) + y", (3, 3), torch.complex64, torch.complex64),
    ("torch.linalg.solve(x, y)", (3, 3), torch.complex64, torch.complex64),
    ("torch.sinc(x) * y", (3,), torch.complex64, torch.complex64),
]


@pytest.mark.parametrize("text, sizes, first, second", COMPLEX, ids=[f"{c[0]} of {c[2]}, {c[3]}" for c in COMPLEX])
def test_decompositions_are_for_real_numbers(text, sizes, first, second):
    source = f"def f(x, y):\n  x, y = x * 1.5, y * 0.5\n  r = {text}\n  z = r * 2\n  return r, z + r, z.sum()\n"
    names = {"torch": torch}
    exec(source, names)
    torch.manual_seed(3)
    arguments = [torch.randn(sizes, dtype=dtype).requires_grad_() for dtype in (first, second)]
    expected = names["f"](*arguments)
    wanted = torch.autograd.grad([r.abs().sum() for r in expected], arguments)
    _C._set_plans_always(True)
    try:
        f = cresset.CompilationUnit(source).f
        for _ in range(3):
            found = f(*arguments)
            torch.testing.assert_close(found, expected)
            gradients = torch.autograd.grad([r.abs().sum() for r in found], arguments)
            torch.testing.assert_close(gradients, wanted)
    finally:
        _C._set_plans_always(False)


@pytest.mark.parametrize(
    "sizes, shape, weight",
    [((4, 5, 1), [5], None), ((), [5], None), ((4, 5), [5], (1, 5)), ((4, 5), [], None), ((4, 5), [4, 5], (5,)), ((4, 5, 7), [5, 6], None), ((5,), [4, 5], None)],
)  # fmt: skip
def test_the_parts_of_rms_norm_refuse_what_it_refuses(sizes, shape, weight):
    source = f"def f(x, w: Optional[Tensor]):\n  y = torch.rms_norm(x * 2, {shape or 'torch.jit.annotate(List[int], [])'}, w)\n  return y + y * y - 1\n"
    x, w = torch.randn(sizes, requires_grad=True), None if weight is None else torch.ones(weight)
    with pytest.raises((RuntimeError, ValueError)) as expected:
        torch.rms_norm(x, shape, w)
    _C._set_plans_always(True)
    try:
        f = cresset.CompilationUnit(source).f
        for _ in range(2):
            with pytest.raises((RuntimeError, ValueError)) as found:
                f(x, w)
            assert str(expected.value) in str(found.value)
    finally:
        _C._set_plans_always(False)


@pytest.mark.parametrize(
    "expression", ["torch.linalg.norm(x * 2, o, [0]) * 3", "torch.cross(x * 2, y.tanh(), d) * 3", "x.sum() * 2"]
)
def test_optional_arguments_that_a_branch_decides(expression):
    text = (
        "def f(x, y, n: int):\n    o: Optional[float] = None\n    d: Optional[int] = None\n    if n > 0:\n"
        f"        o = 1.5\n        d = 1\n    return {expression}\n"
    )
    script = cresset.CompilationUnit(text).f
    eager = {"torch": torch}
    exec(text.replace("Optional[float]", "object").replace("Optional[int]", "object"), eager)
    for n in (0, 0, 1, 1, 0):
        x, y = randn(3, 3).requires_grad_(), randn(3, 3, seed=3).requires_grad_()
        found, expected = script(x, y, n), eager["f"](x, y, n)
        assert torch.allclose(found, expected)
        pairs = [torch.autograd.grad(r.sum(), (x, y), allow_unused=True) for r in (found, expected)]
        for a, b in zip(*pairs, strict=True):
            assert (a is None) == (b is None) and (a is None or torch.allclose(a, b))


def test_refused_gradients_that_nothing_asks_for():
    """floor_divide has a node on the tape that raises when it is called: only a gradient that is there may call it."""

    def f(x: torch.Tensor, y: torch.Tensor):
        a = x * 2
        b = y // 2
        c = b + a
        d = a.sin()
        e = c * d
        return d * 2, a, e, e > 0

    script = cresset.script(f)
    for _ in range(3):
        before = _C._num_recorded_regions()
        x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
        script(x, y)[0].sum().backward()
        assert torch.allclose(x.grad, torch.autograd.grad(f(x, y)[0].sum(), x)[0]) and y.grad is None
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
            script(x, y)[2].sum().backward()
    assert _C._num_recorded_regions() > before


@pytest.mark.parametrize(
    "call", ["scatter_add(a, 0, i, y)", "scatter(a, 0, i, y)", "scatter_reduce(a, 0, i, y, 'sum')"]
)
def test_gradients_of_a_source_that_is_longer_than_its_index(call):
    text = f"def f(x, y, i):\n    a = x * 2\n    return torch.{call} * 2, (y * y).sum()\n"
    script, eager = cresset.CompilationUnit(text).f, {"torch": torch}
    exec(text, eager)
    index = torch.tensor([[0, 1, 2]])
    for _ in range(3):
        for function in (eager["f"], script):
            x, y = randn(3, 3).requires_grad_(), randn(3, 3, seed=5).requires_grad_()
            result, squares = function(x, y, index)
            with pytest.raises(RuntimeError, match=r"got \[1, 3\] but expected shape compatible with \[3, 3\]"):
                (result.sum() + squares).backward()
    x, y = randn(3, 3).requires_grad_(), randn(1, 3, seed=5).requires_grad_()
    pairs = [torch.autograd.grad(function(x, y, index)[0].sum(), (x, y)) for function in (eager["f"], script)]
    assert all(torch.equal(a, b) for a, b in zip(*pairs, strict=True))


def test_angle_at_the_origin():
    def f(y: torch.Tensor, x: torch.Tensor):
        return torch.atan2(y * 1, x * 1) * 2

    script = cresset.script(f)
    for _ in range(3):
        gradients = []
        for function in (f, script):
            y, x = (torch.tensor([0.0, -0.0, 1e-30, 1.0, -2.0], requires_grad=True) for _ in range(2))
            gradients.append(torch.autograd.grad(function(y, x).sum(), (y, x)))
        assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True))
