"""``cresset.patch_torch_jit()``: packages that call torch.jit themselves run on Cresset, as they are.

torch.jit's names are replaced where they stand: in ``torch.jit`` and ``torch._C``, and in every loaded module outside of
torch that has taken one over (``from torch.jit import script``). This is the one file that may touch torch.jit; it calls
nothing there but for what torch.jit itself has made.
"""

import functools
import sys
import threading
import types
import weakref

import torch

from . import (
    _C,
    _decorators,
    _errors,
    _freeze,
    _graph_passes,
    _program,
    _runtime,
    _script,
    _serialization,
    _trace,
    options,
    passes,
)
from ._backends import to_backend
from ._errors import UserError
from ._objects import RecursiveScriptModule, ScriptModule, ScriptObject, TopLevelTracedModule, TracedModule, wrap
from ._optimization import last_executed_optimized_graph, optimized_execution, set_fusion_strategy
from ._profile import ScriptProfile

_lock = threading.RLock()
_active = []  # the patches that are on, outermost first
_changes = []  # (namespace, name, what was there), in the order in which they were made
_MISSING = object()


class patch_torch_jit:  # noqa: N801  (used as a function and in `with`, as torch.set_grad_enabled)
    """Puts Cresset behind ``torch.jit.script``, ``trace``, ``load``, ``save``, ``freeze``, ``export``, ``ScriptModule`` and the
    rest, for the whole process, from the call on: until :meth:`undo`, or the end of ``with patch_torch_jit():``.

    Call it before the package that is to run on Cresset is imported: what a package scripts while it is imported is made
    by whoever stands there then. ``from torch.jit import script`` in a module that is loaded already is changed too;
    local variables, default arguments and base classes are not. Modules and functions that torch.jit has made before
    stay torch.jit's: ``save``, ``freeze`` and the like hand them to torch.jit. ``undo`` puts everything back, in modules
    that were imported meanwhile too.

    Args:
        trusted: what ``torch.jit.load`` passes on to :func:`cresset.load`: whether archives may call operators of other
            libraries, and restore objects by code of their own.

    >>> with cresset.patch_torch_jit():
    ...     import some_package
    ...     model = some_package.scripted_model()     # a cresset.ScriptModule
    """

    def __init__(self, *, trusted=False):
        self.trusted = trusted
        with _lock:
            if not _active:
                _apply()
            _active.append(self)

    def undo(self):
        """Ends this patch; torch.jit is itself again when none is left. Without effect if this one has ended."""
        with _lock:
            if self not in _active:
                return
            _active.remove(self)
            if not _active:
                _restore()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.undo()


def _load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """torch.jit.load, by :func:`cresset.load`."""
    with _lock:
        trusted = bool(_active) and _active[-1].trusted
    return _serialization.load(f, map_location, _extra_files, trusted=trusted)


def _of_either(ours, theirs):
    """A function of futures, torch's or Cresset's."""

    @functools.wraps(theirs)
    def chosen(futures):
        futures = list(futures)
        return (ours if any(isinstance(future, _C.Future) for future in futures) else theirs)(futures)

    return chosen


def _unless_theirs(ours, theirs):
    """``ours``, except for what torch.jit made before."""

    @functools.wraps(ours)
    def chosen(obj, *args, **kwargs):
        if isinstance(obj, _script.OTHER_COMPILED):
            return theirs(obj, *args, **kwargs)
        return ours(obj, *args, **kwargs)

    return chosen


def _wrap_module(theirs):
    """torch.jit._recursive.wrap_cpp_module: the module whose ``_c`` is given."""

    @functools.wraps(theirs)
    def chosen(cpp_module):
        return wrap(cpp_module) if isinstance(cpp_module, _C._Object) else theirs(cpp_module)

    return chosen


def _to_backend(theirs):
    """torch._C._jit_to_backend, for modules of Cresset's and backends that were registered with it."""

    @functools.wraps(theirs)
    def chosen(name, module, spec):
        return (
            theirs(name, module, spec) if isinstance(module, _script.OTHER_COMPILED) else to_backend(name, module, spec)
        )

    return chosen


def _clear_class_registry(theirs):
    """torch._C._jit_clear_class_registry, after which names of classes are free again: Cresset's, not those of torch.jit."""

    @functools.wraps(theirs)
    def clear():
        from . import _modules

        _C._forget_names()
        _modules._shared_types.clear()

    return clear


class _TracingState:
    """What torch._C._get_tracing_state() returns while Cresset traces: the names that a user's hooks give to modules."""

    push_scope = staticmethod(_C._trace_push_scope)
    pop_scope = staticmethod(_C._trace_pop_scope)


def _get_tracing_state(theirs):
    """torch._C._get_tracing_state; torch's own functions are not to know of Cresset's traces, which see what they call."""
    state = _TracingState()

    @functools.wraps(theirs)
    def chosen():
        caller = sys.modules.get(sys._getframe(1).f_globals.get("__name__"))
        return state if _C._tracing() and _is_outside(caller) else theirs()

    chosen._dynamo_marked_constant = True  # torch.compile looks into functions of Python, and nn.Module calls this one
    _C._set_well_known([(chosen, "torch._C", "_get_tracing_state")])
    return chosen


def _create_script_module(nn_module, stubs_fn, share_types=True, is_tracing=False):
    """torch.jit._recursive's, by the conversion that :func:`cresset.script` has."""
    from . import _modules

    recursive = torch.jit._recursive
    # torch's own choices are made from modules, without torch's parser, which takes less than Cresset's.
    known = {recursive.infer_methods_to_compile: True, recursive.make_stubs_from_exported_methods: "exported"}
    methods = known.get(stubs_fn, _MethodsOfStubs(stubs_fn))
    return _modules.convert(nn_module, compile_methods=methods, share_types=share_types)


class _MethodsOfStubs:
    """By name, the functions that torch.jit._recursive.make_stub was called with."""

    def __init__(self, stubs_fn):
        self._stubs_fn = stubs_fn

    def key(self):
        return weakref.ref(self._stubs_fn)  # which may hold a module of the class that has the key

    def __call__(self, module):
        return {
            stub.def_.name().name: getattr(stub.original_method, "__func__", stub.original_method)
            for stub in self._stubs_fn(module)
        }


def _type_class(theirs):
    """A class of torch._C by which types are made of types (``ListType(element)``): Cresset's of Cresset's, torch's of torch's."""

    class Making(type(theirs)):
        def __call__(cls, *parts):
            flat = [each for part in parts for each in (part if isinstance(part, (list, tuple)) else [part])]
            if any(isinstance(each, _C.Type) for each in flat):
                return _C._make_type(theirs.__name__, flat)
            return theirs(*parts)

        def __instancecheck__(cls, value):
            return isinstance(value, theirs)

    return Making(theirs.__name__, (theirs,), {"__module__": theirs.__module__, "__doc__": theirs.__doc__})


def _assert_is_instance(theirs):
    """torch._C._jit_assert_is_instance, of Cresset's types too."""

    @functools.wraps(theirs)
    def assert_is_instance(value, type):
        (_C._assert_is_instance if isinstance(type, _C.Type) else theirs)(value, type)

    return assert_is_instance


def _set_autodiff_subgraph_inlining(theirs):
    """torch._C._debug_set_autodiff_subgraph_inlining: without inlining, single operators are differentiable subgraphs."""

    @functools.wraps(theirs)
    def set_inlining(inlining):
        theirs(inlining)
        options.set(differentiable_nodes=2 if inlining else 1)

    return set_inlining


def _call_of(graph, name):
    """The node that calls the operator of that name, or else the first that returns a tensor."""
    calls = [node for node in graph.nodes() if node.operatorRow()]
    named = [node for node in calls if node.kind() == f"aten::{name}"]
    with_tensors = [node for node in calls if any(value.type().kind() == "TensorType" for value in node.outputs())]
    return next(iter(named or with_tensors), None)


def _call_alone(graph, args, name):
    """The call of that operator as a graph of its own for torch._C.parse_ir, with the tensors that it is called with.

    What else it takes are constants, which stand in the graph.
    """
    graph = graph.copy()
    node = _call_of(graph, name)
    if node is None:
        raise UserError(f"the graph has no call of '{name}'")
    operands = list(node.inputs())
    for i in reversed(range(len(graph.outputs()))):
        graph.eraseOutput(i)
    for operand in operands:
        graph.registerOutput(operand)
    graph.makeMultiOutputIntoTuple()
    values = _C.function_from_graph("operands", graph)(*args)
    alone, tensors, copies = _C.Graph(), [], {}
    for operand, value in zip(operands, values if len(operands) > 1 else [values], strict=True):
        is_list = isinstance(value, list)
        if isinstance(value, torch.Tensor) or (is_list and any(isinstance(element, torch.Tensor) for element in value)):
            copy = alone.addInput()
            tensors.append(value)
        elif is_list:  # constants of lists are not read
            elements = [alone.insertConstant(element) for element in value]
            copy = alone.insertNode(alone.create("prim::ListConstruct", elements)).output()
        else:
            copy = alone.insertConstant(value)
        if is_list:
            copy.setTypeAs(operand)
        copies[operand.debugName()] = copy
    alone.insertNode(alone.createClone(node, lambda value: copies[value.debugName()]))
    return alone.str(False), tuple(tensors)


def _check_alias_annotation(theirs, parse_theirs):
    """torch._C._jit_check_alias_annotation, which checks the schema of a graph's operator, of Cresset's graphs too."""

    @functools.wraps(theirs)
    def check(graph, args, name):
        if isinstance(graph, _C.Graph):
            text, args = _call_alone(graph, args, name)
            graph = parse_theirs(text)
        theirs(graph, args, name)

    return check


class FileCheck(torch._C.FileCheck):
    """torch.testing.FileCheck, which takes Cresset's graphs too."""

    def run(self, *args, **kwargs):
        """Checks a text or a graph; with two arguments, the first has the checks."""

        def text(arg):
            return str(arg) if isinstance(arg, _C.Graph) else arg

        super().run(*map(text, args), **{name: text(arg) for name, arg in kwargs.items()})


def _script_function(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """torch.jit.script, by :func:`cresset.script`."""
    if isinstance(obj, _script.OTHER_COMPILED):
        return obj
    compiled = _script.script(obj, optimize, _frames_up + 1, _rcb, example_inputs)
    if torch._C._jit_get_inline_everything_mode():
        _inline_calls(compiled)
    return compiled


def _inline_calls(compiled):
    """In graphs that have not run: what torch.jit compiles in its mode that inlines everything has no calls."""
    if isinstance(compiled, _C.ScriptFunction):
        passes.inline(compiled.graph)
    elif isinstance(compiled, ScriptModule):
        for module in compiled.modules():
            for name in module._c._method_names():
                passes.inline(module._c._get_method(name).graph)


def _copy(function):
    """The same function as an object of its own, so that it is known again when it is to be taken away."""
    if not isinstance(function, types.FunctionType):
        return function
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    functools.update_wrapper(copy, function)
    del copy.__wrapped__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


@functools.cache
def _replacements():
    """(module, name, what takes the place of what stands there)."""
    jit = sys.modules["torch.jit"]
    ours = {
        "CompilationUnit": _program.CompilationUnit,
        "Error": _errors.Error,
        "Future": _C.Future,
        "RecursiveScriptClass": ScriptObject,
        "RecursiveScriptModule": RecursiveScriptModule,
        "ScriptFunction": _C.ScriptFunction,
        "ScriptModule": ScriptModule,
        "ScriptWarning": _errors.ScriptWarning,
        "TopLevelTracedModule": TopLevelTracedModule,
        "TracedModule": TracedModule,
        "TracerWarning": _trace.TracerWarning,
        "TracingCheckError": _trace.TracingCheckError,
        "_set_fusion_strategy": set_fusion_strategy,
        "_fork": _runtime.fork,
        "_get_trace_graph": _trace._get_trace_graph,
        "_awaitable_wait": _runtime._awaitable_wait,
        "_wait": _runtime.wait,
        "Attribute": _decorators.Attribute,
        "enable_onednn_fusion": _runtime.enable_onednn_fusion,
        "export_opnames": _unless_theirs(_serialization.export_opnames, jit.export_opnames),
        "fork": _runtime.fork,
        "freeze": _unless_theirs(_freeze.freeze, jit.freeze),
        "interface": _script.interface,
        "is_tracing": _trace.is_tracing,
        "last_executed_optimized_graph": last_executed_optimized_graph,
        "load": _load,
        "onednn_fusion_enabled": _runtime.onednn_fusion_enabled,
        "optimize_for_inference": _unless_theirs(_freeze.optimize_for_inference, jit.optimize_for_inference),
        "optimized_execution": optimized_execution,
        "run_frozen_optimizations": _unless_theirs(_freeze.run_frozen_optimizations, jit.run_frozen_optimizations),
        "save": _unless_theirs(_serialization.save, jit.save),
        "script": _script_function,
        "script_if_tracing": _trace.script_if_tracing,
        "script_method": _script.script_method,
        "set_fusion_strategy": set_fusion_strategy,
        "trace": _trace.trace,
        "trace_module": _trace.trace_module,
        "wait": _runtime.wait,
    }
    copies = {value: _copy(value) for value in ours.values()}
    _C._set_well_known(
        [(copies[getattr(_runtime, name)], "torch.jit", name) for name in ("fork", "wait", "_awaitable_wait")]
    )
    _C._set_well_known([(copies[_trace.is_tracing], "torch.jit", "is_tracing")])
    rows = [(jit, name, copies[value]) for name, value in ours.items() if name in vars(jit)]
    for name in ("FrontendError", "NotSupportedError", "UnsupportedNodeError"):
        rows.append((jit.frontend, name, _errors.CompileError))
    for name in ("collect_all", "wait_all"):
        rows.append((torch.futures, name, _of_either(getattr(_runtime, name), getattr(torch.futures, name))))
    rows += [(torch._C, "FileCheck", FileCheck), (torch.testing, "FileCheck", FileCheck)]
    rows.append((jit._script, "_ScriptProfile", _copy(ScriptProfile)))
    rows.append((jit._recursive, "wrap_cpp_module", _wrap_module(jit._recursive.wrap_cpp_module)))
    rows.append((torch._C, "_jit_to_backend", _to_backend(torch._C._jit_to_backend)))
    rows.append((torch._C, "_jit_assert_is_instance", _assert_is_instance(torch._C._jit_assert_is_instance)))
    check = torch._C._jit_check_alias_annotation
    rows.append((torch._C, "_jit_check_alias_annotation", _check_alias_annotation(check, torch._C.parse_ir)))
    inlining = torch._C._debug_set_autodiff_subgraph_inlining
    rows.append((torch._C, "_debug_set_autodiff_subgraph_inlining", _set_autodiff_subgraph_inlining(inlining)))
    rows.append((torch._C, "_jit_clear_class_registry", _clear_class_registry(torch._C._jit_clear_class_registry)))
    rows.append((torch._C, "_get_tracing_state", _get_tracing_state(torch._C._get_tracing_state)))
    rows.append((jit._recursive, "create_script_module", _create_script_module))
    core = {
        "Block": _C.Block,
        "CompilationUnit": _program.CompilationUnit,
        "Graph": _C.Graph,
        "JITException": _errors.Error,
        "Node": _C.Node,
        "ScriptFunction": _C.ScriptFunction,
        "ScriptMethod": _C.ScriptMethod,
        "Value": _C.Value,
    }
    rows += [(torch._C, name, value) for name, value in core.items()]
    for name in (
        "AwaitType",
        "DictType",
        "FutureType",
        "ListType",
        "OptionalType",
        "RRefType",
        "TupleType",
        "UnionType",
    ):
        rows.append((torch._C, name, _type_class(getattr(torch._C, name))))
    rows += [(torch._C, name, value) for name, value in _graph_passes.functions(torch._C)]
    return rows


def _apply():
    for module, name in (("torch._C", "ScriptFunction"), ("torch._C", "Future")):
        _C._known(module, name)  # what the compiler asks for is what it was
    by_identity = {}
    for module, name, new in _replacements():
        old = getattr(module, name)
        if new is not old:
            by_identity[id(old)] = by_identity[id(_C._without_dynamo(old))] = new
            _set(module, name, new)
    _replace_in_modules(by_identity, _holds_torch_jit)
    _forget_classes_in_dynamo()


def _forget_classes_in_dynamo():
    """torch.compile keeps from its first use on of which class script functions are."""
    builder = sys.modules.get("torch._dynamo.variables.builder")
    by_class = getattr(getattr(builder, "VariableBuilder", None), "_type_dispatch_impl", None)
    clear = getattr(by_class, "cache_clear", None)
    if clear is not None:
        clear()


def _restore():
    old_of = {(id(module), name): old for module, name, old in reversed(_changes)}
    while _changes:
        namespace, name, old = _changes.pop()
        if old is _MISSING:
            vars(namespace).pop(name, None)
        else:
            setattr(namespace, name, old)
    # What modules that were imported meanwhile have taken over: of what is the patch's own. Cresset's classes stay, since
    # a module may have meant them.
    back = {}
    for module, name, new in _replacements():
        if isinstance(new, types.FunctionType) and (id(module), name) in old_of:
            back[id(new)] = old_of[id(module), name]
    _replace_in_modules(back, _is_outside)
    _changes.clear()
    _forget_classes_in_dynamo()


def _set(module, name, value):
    _changes.append((module, name, vars(module).get(name, _MISSING)))
    setattr(module, name, value)


def _replace_in_modules(by_identity, chosen):
    for module in list(sys.modules.values()):
        if not chosen(module):
            continue
        for name, value in list(vars(module).items()):
            new = by_identity.get(id(value))
            if new is None and isinstance(value, types.FunctionType):
                new = by_identity.get(id(_C._without_dynamo(value)))
            if new is not None:
                _set(module, name, new)


def _is_outside(module):
    """Whether a module is neither torch's nor ours."""
    name = getattr(module, "__name__", None)
    return (
        isinstance(name, str) and isinstance(module, type(sys)) and name.partition(".")[0] not in ("torch", "cresset")
    )


def _holds_torch_jit(module):
    """Modules in which torch.jit's names are replaced: of torch's own, those by which users reach them."""
    return _is_outside(module) or getattr(module, "__name__", None) in (
        "torch",
        "torch.jit",
        "torch.jit._script",
        "torch.jit._trace",
        "torch.jit._serialization",
        "torch.utils.bundled_inputs",
        "torch.utils.mobile_optimizer",
    )


_load.__name__ = "load"
_script_function.__name__ = "script"
