"""``cresset.trace`` and ``cresset.trace_module``: programs made by running Python code on example inputs.

The recording is done in C++ (src/cresset/tracer); here is what only Python knows: the names of arguments, which module
is where, and the check that a trace does what the code does, with torch.jit's names and phrases.
"""

import copy
import difflib
import functools
import inspect
import re
import textwrap
import types
import warnings

import torch
from torch.nn.utils import parametrize
from torch.utils import _pytree

from . import _C, passes
from ._objects import ScriptModule, TopLevelTracedModule, TracedModule
from ._runtime import scripting_is_off
from ._traced_lists import settled
from ._traced_numbers import forget
from ._tracing_hooks import TracerWarning, Tracing

__all__ = ["TracerWarning", "TracingCheckError", "is_tracing", "script_if_tracing", "trace", "trace_module"]


class TracingCheckError(Exception):
    """A trace differs from another trace of the same code on the same inputs, or can't be run."""

    def __init__(self, graph_diff_error, tensor_compare_error, extra_msg=None):
        self.message = "Tracing failed sanity checks!\n"
        if extra_msg is not None:
            self.message += extra_msg + "\n"
        if graph_diff_error is not None:
            self.message += "ERROR: Graphs differed across invocations!\n" + _indent(graph_diff_error) + "\n"
        if tensor_compare_error is not None:
            self.message += (
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This often indicates that "
                "the tracer has encountered untraceable code.\n" + _indent(tensor_compare_error) + "\n"
            )
        super().__init__(self.message)


def is_tracing():
    """Whether this thread runs code that :func:`cresset.trace` records. False in scripts."""
    return _C._tracing()


def _indent(text):
    return textwrap.indent(text, "\t", lambda line: True)


# ---- Recording


def _argument_names(function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]


def _distinct(value, recording, seen):
    """Inputs in which every tensor has memory of its own: a copy stands in for one that is read like another input, or like
    a parameter or buffer of the module, or the graph could not tell them apart."""
    if isinstance(value, torch.Tensor):
        memory = _memory(value)
        if memory in seen or recording.holds(value):
            requires_grad = value.requires_grad
            return value.detach().clone().requires_grad_(requires_grad) if value.is_leaf else value.clone()
        seen.add(memory)
        return value
    if type(value) in (tuple, list):
        return type(value)([_distinct(item, recording, seen) for item in value])
    if isinstance(value, tuple):
        return type(value)(*(_distinct(item, recording, seen) for item in value))
    if type(value) is dict:
        return {key: _distinct(item, recording, seen) for key, item in value.items()}
    return value


def _memory(tensor):
    """What two tensors share that are the same part of the same memory."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return id(tensor)
    # Not untyped_storage(): an object of Python's would stay, as one more reference to the memory.
    place = torch._C._storage_address(tensor), tensor.storage_offset(), tensor.dtype
    return *place, tuple(tensor.shape), tensor.stride()


def _run(context, function, args, kwargs):
    with context:
        return settled(function(*args, **kwargs))


def _record(function, names, args, kwargs, *, module=None, paths=None, strict, force_outplace):
    """The finished trace of ``function(*args, **kwargs)``; ``names`` are those of the positional arguments."""
    recording = _C._Trace(_run.__code__, force_outplace)
    if module is not None:
        recording.set_self(module)
    seen = set()
    recording.check_inputs(tuple(args))
    args = tuple(_distinct(value, recording, seen) for value in args)
    kwargs = {name: _distinct(value, recording, seen) for name, value in kwargs.items()}
    taken = {"self"}
    for position, value in enumerate(args):
        name = names[position] if position < len(names) else f"argument_{position + 1}"
        while name in taken:
            name += "_"
        taken.add(name)
        recording.add_input(name, value)
    for name, value in kwargs.items():
        recording.add_input(name, value)
    result = recording.run(functools.partial(_run, Tracing(paths), function, args, kwargs))
    recording.finish(result, strict)
    return recording


def _as_tuple(inputs):
    if isinstance(inputs, (torch.Tensor, dict)):
        return (inputs,)
    return inputs if isinstance(inputs, tuple) else tuple(inputs)


def _function_name(function):
    name = getattr(function, "__name__", None) or type(function).__name__
    if name == "<lambda>":
        return "_lambda"
    return re.sub(r"\W", "_", name)


def _in_order(names, kwargs):
    """Keyword arguments in the order of the signature."""
    known = {name: kwargs[name] for name in names if name in kwargs}
    return {**known, **kwargs}


# ---- The interface


def _check_inputs_by_name(inputs):
    if inputs is None:
        raise RuntimeError(
            "trace() needs inputs to run the function with: a tensor or a tuple as example_inputs, or example_kwarg_inputs, "
            "which should be a dict"
        )
    if not isinstance(inputs, dict):
        raise RuntimeError("example_kwarg_inputs should be a dict")


def trace(
    func,
    example_inputs=None,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_kwarg_inputs=None,
    _store_inputs=True,
):
    """Runs ``func`` on example inputs and returns a program that does what PyTorch did meanwhile.

    ``func`` is a function, a :class:`torch.nn.Module` or its ``forward``. Inputs and results are tensors, or tuples,
    lists and dicts of tensors, nested. A function becomes a :class:`cresset.ScriptFunction`, a module a
    :class:`cresset.ScriptModule` with the same parameters.

    Sizes stay symbolic: ``x.shape``, ``len(x)``, ``x.numel()`` and what is computed from them (``//``, ``min``,
    ``math.sqrt``, …) are computed anew in each call. Decisions do not: the branches that were taken and the rounds that
    loops made are what the program does from then on. Where Python turns a tensor or a size into a value that the trace
    can't follow, a :class:`cresset.TracerWarning` points at the line. Script functions and script modules that are
    called stay calls, with their control flow.

    :param check_trace: trace again and compare the graphs and the results of trace and code.
    :param check_inputs: a list of tuples of inputs to check with; the example inputs if not given.
    :param check_tolerance: how far results may be from each other.
    :param strict: refuse to return dicts, whose keys are constants of the trace.
    :param example_kwarg_inputs: inputs by name, instead of ``example_inputs``.
    """
    _ignore(optimize)
    if scripting_is_off():
        return func
    if isinstance(func, ScriptModule):
        warnings.warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            stacklevel=2,
        )
        return func
    forward = None
    if isinstance(getattr(func, "_traced_as", None), torch.nn.Module):  # cresset.functionalize(module)
        forward, func = func, func._traced_as
    owner = getattr(func, "__self__", None)
    by_name = example_inputs is None or isinstance(example_kwarg_inputs, dict)
    if isinstance(func, torch.nn.Module) or (
        isinstance(owner, torch.nn.Module) and getattr(func, "__name__", "") == "forward"
    ):
        if by_name:
            _check_inputs_by_name(example_kwarg_inputs)
            example_inputs = example_kwarg_inputs
        return trace_module(
            func if isinstance(func, torch.nn.Module) else owner,
            {"forward": example_inputs},
            None,
            check_trace,
            None if check_inputs is None else [{"forward": inputs} for inputs in check_inputs],
            check_tolerance,
            strict,
            _force_outplace,
            example_inputs_is_kwarg=by_name,
            _forward=forward,
        )
    if isinstance(owner, torch.nn.Module):
        raise AttributeError("trace doesn't support compiling individual module's functions.\nPlease use trace_module")
    if by_name:
        _check_inputs_by_name(example_kwarg_inputs)
    example = example_kwarg_inputs if by_name else _as_tuple(example_inputs)

    def make(inputs):
        names = _argument_names(func)
        args, kwargs = ((), _in_order(names, inputs)) if by_name else (inputs, {})
        recording = _record(func, names, args, kwargs, strict=strict, force_outplace=_force_outplace)
        return recording.declare(_function_name(func))

    traced = make(example)
    if check_trace:
        checks = [example] if check_inputs is None else list(check_inputs)
        if not by_name:
            checks = [_as_tuple(inputs) for inputs in checks]
        _check(checks, func, traced, lambda inputs: make(inputs), check_tolerance, by_name)
    if isinstance(func, types.FunctionType):
        traced._torchdynamo_inline = func  # torch.compile looks into a function that torch.jit has traced
    return traced


def trace_module(
    mod,
    inputs,
    optimize=None,
    check_trace=True,
    check_inputs=None,
    check_tolerance=1e-5,
    strict=True,
    _force_outplace=False,
    _module_class=None,
    _compilation_unit=None,
    example_inputs_is_kwarg=False,
    _store_inputs=True,
    _forward=None,
):
    """Traces methods of a module: ``inputs`` are example inputs by the name of the method.

    Returns a :class:`cresset.ScriptModule` with the parameters, buffers and submodules of ``mod`` and the traced methods.
    The code of each submodule that ran is a method of that submodule. See :func:`cresset.trace`.

    :param example_inputs_is_kwarg: the example inputs of a method are a dict of keyword arguments.
    """
    _ignore(optimize)
    if scripting_is_off():
        return mod
    if not isinstance(mod, torch.nn.Module):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    if parametrize._cache_enabled and any(map(parametrize.is_parametrized, mod.modules())):
        # A parameter that is computed once would be a constant, without a gradient.
        raise RuntimeError("Cannot trace a model while caching parametrizations.")
    call = mod if _forward is None else _forward  # which calls the module
    settings = {"strict": strict, "force_outplace": _force_outplace, "by_name": example_inputs_is_kwarg, "call": call}
    traced = _trace_methods(mod, inputs, **settings)
    if check_trace:
        for name in inputs:
            checks = [inputs] if check_inputs is None else list(check_inputs)
            _check(
                [_inputs_of(check[name], example_inputs_is_kwarg) for check in checks],
                call if name == "forward" else getattr(mod, name),
                getattr(traced, name),
                lambda given, name=name: getattr(_trace_methods(mod, {name: given}, **settings), name),
                check_tolerance,
                example_inputs_is_kwarg,
            )
    return traced


def _inputs_of(example, by_name):
    return example if by_name and isinstance(example, dict) else _as_tuple(example)


def _trace_methods(mod, inputs, *, strict, force_outplace, by_name, call):
    from ._modules import convert

    for child in mod.modules():
        if child._backward_hooks or child._backward_pre_hooks:
            raise ValueError(f"Modules that have backward hooks assigned can't be compiled: {child}")
    module = convert(mod, compile_methods="exported", share_types=False, wrapper=TracedModule)
    if type(module) is TracedModule:
        module.__class__ = TopLevelTracedModule
    paths = {}
    for path, child in mod.named_modules():
        paths[id(child)] = path.split(".") if path else []
    for name, example in inputs.items():
        # `forward` runs with the module's hooks, and has the arguments of the method.
        function = call if name == "forward" else getattr(mod, name)
        names = _argument_names(getattr(mod, name))
        args, kwargs = _inputs_of(example, by_name), {}
        if isinstance(args, dict):
            for key in args:
                if key not in names:
                    valid = "[" + ",".join(names) + "]"
                    raise NameError(
                        f"'{key}' is not in forward() method's arguments,\n"
                        f"                         valid arguments name are {valid}"
                    )
            args, kwargs = (), _in_order(names, args)
        recording = _record(
            function, names, args, kwargs, module=module, paths=paths, strict=strict, force_outplace=force_outplace
        )
        recording.declare(name)
    for child in module.modules():
        forward = child._c.method("forward")
        if forward is not None and not isinstance(child.__dict__.get("forward"), _C.ScriptMethod):
            # A script module within keeps what it has.
            child.__dict__["forward"] = forward
    _forget_numbers(mod)
    return module


def _forget_numbers(mod):
    """Sizes that the module's code kept (`self.length = x.shape[0]`) are plain numbers from now on."""
    for child in mod.modules():
        for name, value in list(vars(child).items()):
            kept = forget(value)
            if kept is not value:
                child.__dict__[name] = kept


def _ignore(optimize):
    if optimize is not None:
        warnings.warn("`optimize` has no effect.", FutureWarning, stacklevel=3)


def _get_trace_graph(
    f,
    args=(),
    kwargs=None,
    strict=True,
    _force_outplace=False,
    return_inputs=False,
    _return_inputs_states=False,
):
    """The graph of one run of a function or module, and what the run returned, as ``torch.jit._get_trace_graph`` has it.

    The graph takes the tensors of ``args``, flat, then the parameters and buffers of ``f``, each once, and returns the
    tensors that ``f`` returned, flat; None in either is left out. Script functions that ``f`` calls stay calls.

    :param return_inputs: return copies of the graph's inputs as a third item, taken before the run.
    """
    args = args if isinstance(args, tuple) else (args,)
    leaves, structure = _pytree.tree_flatten(args)
    if not all(leaf is None or isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise RuntimeError("Expected Tensor argument")
    recording = _C._Trace(_run.__code__, _force_outplace)
    seen = set()
    leaves = [_distinct(leaf, recording, seen) for leaf in leaves]
    inputs = [leaf for leaf in leaves if leaf is not None]
    names = [f"input_{number + 1}" for number in range(len(inputs))]
    if isinstance(f, torch.nn.Module):
        for name, tensor in f.state_dict(keep_vars=True).items():
            if isinstance(tensor, torch.Tensor) and _memory(tensor) not in seen:
                seen.add(_memory(tensor))
                inputs.append(tensor)
                names.append(re.sub(r"\W|^(?=\d)", "_", name))
    taken = set()
    for name, tensor in zip(names, inputs, strict=True):
        while name in taken:  # `a.b` and `a_b` are one name in a graph
            name += "_"
        taken.add(name)
        recording.add_input(name, tensor)
    copies = tuple(tensor.clone(memory_format=torch.preserve_format) for tensor in inputs)
    given = _pytree.tree_unflatten(leaves, structure)
    states = copy.deepcopy(given) if _return_inputs_states else None
    outputs = []

    def run(*args):
        outputs.append(f(*args, **(kwargs or {})))
        flat = [leaf for leaf in _pytree.tree_leaves(outputs[0]) if leaf is not None]
        return flat[0] if len(flat) == 1 else tuple(flat)

    result = recording.run(functools.partial(_run, Tracing(None), run, given, {}))
    recording.finish(result, strict)
    graph = recording.graph()
    if return_inputs:
        return graph, outputs[0], copies
    return (graph, outputs[0], (states, given)) if _return_inputs_states else (graph, outputs[0])


def script_if_tracing(fn):
    """A decorator: the function is compiled with :func:`cresset.script` when it is called by code that is being traced,
    so that its control flow is kept; otherwise it is an ordinary Python function."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        from . import script

        return script(fn)(*args, **kwargs)

    # torch.jit's names, by which compilers find the wrapped function.
    wrapper.__original_fn = fn
    wrapper.__script_if_tracing_wrapper = True
    return wrapper


# ---- Checks


def _clone(value):
    if isinstance(value, torch.Tensor):
        clone = value.detach().clone().requires_grad_(value.requires_grad)
        if value.grad is not None:
            clone.grad = _clone(value.grad)
        return clone
    if type(value) in (tuple, list):
        return type(value)([_clone(item) for item in value])
    if isinstance(value, tuple):
        return type(value)(*(_clone(item) for item in value))
    if isinstance(value, dict):
        return {key: _clone(item) for key, item in value.items()}
    return value


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    if isinstance(value, dict):
        return [tensor for item in value.values() for tensor in _tensors(item)]
    return []


def _check(checks, function, traced, retrace, tolerance, by_name):
    for inputs in checks:
        again = retrace(_clone(inputs))
        diagnosis = functools.partial(_graph_differences, traced, again)
        ran = _outputs(traced, inputs, by_name, "trace", diagnosis)
        expected = _outputs(function, inputs, by_name, "Python function", diagnosis)
        warned = []
        if _compare(ran, expected, "Python function", tolerance, traced, warned):
            repeated = _outputs(again, inputs, by_name, "repeated trace", diagnosis)
            _compare(ran, repeated, "repeated trace", tolerance, traced, warned)
        graphs, constants = diagnosis()
        if graphs is not None or constants is not None:
            raise TracingCheckError(graphs, constants)


def _outputs(callee, inputs, by_name, what, diagnosis):
    inputs = _clone(inputs)
    try:
        return [t.detach() for t in _tensors(callee(**inputs) if by_name else callee(*inputs))]
    except Exception as error:
        message = (
            f"encountered an exception while running the {what} with test inputs.\nException:\n{_indent(str(error))}"
        )
        raise TracingCheckError(*diagnosis(), extra_msg=message) from error


def _close(a, b, tolerance):
    if a.is_quantized:
        a = a.dequantize()
    if b.is_quantized:
        b = b.dequantize()
    if a.layout != torch.strided and a.is_mkldnn:
        a = a.to_dense()
    if b.layout != torch.strided and b.is_mkldnn:
        b = b.to_dense()
    if a.is_nested or b.is_nested:
        if a.is_nested != b.is_nested:
            raise AssertionError("Only one of the results is a nested tensor")
        for x, y in zip(a.unbind(), b.unbind()):
            _close(x, y, tolerance)
        return
    wide = torch.cdouble if a.is_complex() or b.is_complex() else torch.double
    # As wide as can be, so that only the values count; the bound on the difference is the narrower type's.
    bound = {torch.float16: 1e-5, torch.bfloat16: 1e-5, torch.float64: 1e-7}.get(a.dtype, 1e-5)
    if not a.is_floating_point() and not a.is_complex():
        bound = 0.0
    torch.testing.assert_close(a.to(wide), b.to(wide), rtol=tolerance, atol=bound, equal_nan=True)


def _compare(outputs, reference, what, tolerance, traced, warned):
    same = True
    for number, (a, b) in enumerate(zip(outputs, reference), 1):
        try:
            _close(a, b, tolerance)
        except AssertionError as error:
            _warn_random(traced, warned)
            warnings.warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the {what}. "
                f"Detailed error:\n{error}",
                TracerWarning,
                stacklevel=5,
            )
            same = False
    return same


def _warn_random(traced, warned):
    if warned:
        return
    warned.append(True)
    nodes = [node for node in traced.inlined_graph.nodes() if _is_random(node)]
    if nodes:
        listing = "\n".join(_indent(repr(node)) for node in nodes[:20])
        warnings.warn(
            "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
            + listing
            + "\nThis may cause errors in trace checking. To disable trace checking, pass check_trace=False to "
            "cresset.trace()",
            TracerWarning,
            stacklevel=6,
        )


def _is_random(node):
    name = node.kind()
    if not name.startswith("aten::"):
        return False
    schema = node.operatorSchema()
    packet = getattr(torch.ops.aten, name[len("aten::") :], None)
    overload = getattr(packet, (schema.overload_name if schema else "") or "default", None)
    if overload is None or torch.Tag.nondeterministic_seeded not in overload.tags:
        return False
    if name in ("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout", "aten::feature_alpha_dropout"):
        return node.inputs()[2].toIValue() is not False  # `train`
    return True


def _graph_differences(traced, again):
    """Texts that say how the graphs of two traces differ, and their tensor constants; None where they don't."""
    graphs = traced.inlined_graph, again.inlined_graph
    for graph in graphs:
        passes.erase_shapes(graph)  # other inputs may have other sizes
    nodes = list(zip(*(graph.nodes() for graph in graphs)))
    texts = [_canonical(graph.str(False), {}) for graph in graphs]
    found = None
    if texts[0] != texts[1]:
        found = "Graph diff:\n" + _indent(_difference(*texts)) + "\n"
        names = {}, {}
        for a, b in nodes:
            lines = _canonical(_line(a), names[0]), _canonical(_line(b), names[1])
            if lines[0] != lines[1]:
                found += "First diverging operator:\nNode diff:\n" + _indent(_difference(*lines)) + "\n"
                if a.sourceRange():
                    found += "Trace source location:\n" + _indent(a.sourceRange()) + "\n"
                if b.sourceRange():
                    found += "Check source location:\n" + _indent(b.sourceRange()) + "\n"
                break
    constants = None
    for a, b in nodes:
        if a.kind() != b.kind():
            break
        if a.kind() != "prim::Constant" or not (a.hasAttribute("value") and b.hasAttribute("value")):
            continue
        if not all(isinstance(node.output().type(), torch.TensorType) for node in (a, b)):
            continue
        values = a["value"], b["value"]
        try:
            torch.testing.assert_close(*values, equal_nan=True)
        except (RuntimeError, AssertionError) as error:
            constants = "Node:\n" + _indent(_line(a)) + "\n"
            if a.sourceRange():
                constants += "Source Location:\n" + _indent(a.sourceRange()) + "\n"
            constants += "Comparison exception: " + _indent(str(error))
            break
    return found, constants


def _line(node):
    return re.sub(r" # [^\n]*", "", repr(node))


def _canonical(text, numbers):
    """The text with values numbered in the order in which they appear: names are chance."""
    text = re.sub(r"___torch_mangle_[0-9]+\.", "", text)
    return re.sub(r"%[\w.]+", lambda name: f"%{numbers.setdefault(name[0], len(numbers))}", text)


def _difference(a, b):
    return "".join(difflib.ndiff(a.splitlines(True), b.splitlines(True)))


_C._set_well_known([(is_tracing, "torch.jit", "is_tracing")])

for _public in (TracerWarning, TracingCheckError, is_tracing, script_if_tracing, trace, trace_module):
    _public.__module__ = "cresset"
