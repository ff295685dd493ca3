"""torch._C's functions over graphs, for graphs of Cresset's: what ``patch_torch_jit`` puts in their places."""

import contextlib
import functools
from types import SimpleNamespace

import torch
from torch.utils import _pytree

from . import _C, passes
from ._errors import UserError
from ._graphs import parse_ir
from ._objects import ScriptModule, wrap
from ._rewriting import rewrite_where
from ._static import StaticModule

# torch._C's name after "_jit_pass_", and the passes that do it. Aliases, in-place operators and the like that torch's pass
# leaves alone may be rewritten too: what a pass of Cresset's keeps stands in docs/passes.md.
_PASSES = {
    "autocast": ("insert_autocast_casts",),
    "batch_mm": ("batch_mm",),
    "constant_loop_unrolling": ("unroll",),
    "constant_pooling": ("pool_constants",),
    "constant_propagation": ("constant_propagation", "simplify_branches"),
    "constant_propagation_immutable_types": ("constant_propagation", "simplify_branches"),
    "cse": ("cse",),
    "dce": ("dce",),
    "dce_graph": ("dce",),
    "erase_shape_information": ("erase_shapes",),
    "fold_frozen_conv_add_or_sub": ("fold_into_weights",),
    "fold_frozen_conv_bn": ("fold_into_weights",),
    "fold_frozen_conv_mul_or_div": ("fold_into_weights",),
    "fold_frozen_linear_bn": ("fold_into_weights",),
    "functional_to_inplace_activation": ("reinplace",),
    "inline": ("inline",),
    "inline_fork_wait": ("inline_fork_wait",),
    "inline_functional_graphs": ("inline",),
    "inplace_to_functional_activation": ("functionalize",),
    "integer_value_refinement": ("refine_values",),
    "lint": ("lint",),
    "onnx_function_substitution": ("inline", "constant_propagation", "simplify_branches"),
    "onnx_lint": ("lint",),
    "loop_unrolling": ("unroll",),
    "peephole": ("peephole", "read_containers", "simplify_branches"),
    "propagate_device": ("propagate_types",),
    "propagate_dtype": ("propagate_types",),
    "propagate_shapes_on_graph": ("propagate_shapes",),
    "refine_integer_values": ("refine_values",),
    "refine_tuple_types": ("propagate_shapes",),
    "remove_inplace_ops": ("functionalize",),
    "transpose_frozen_linear": ("transpose_linear",),
    "remove_mutation": ("remove_list_mutation", "remove_dict_mutation", "remove_tensor_mutation"),
}

#: Passes of torch's that have no counterpart, and what to do instead.
NONE = {
    "canonicalize_graph_fuser_ops": "leave it out: plans fuse by themselves",
    "create_functional_graphs": "use cresset.passes.functionalize, which rewrites the whole graph",
    "dce_allow_deleting_nodes_with_side_effects": "use cresset.passes.dce, and node.destroy() for what has effects",
    "erase_number_types": "leave it out: it serves the exporter to ONNX",
    "fold_convbn": "use cresset.freeze, which folds batch norms into the convolutions before them",
    "fuse_add_relu": "leave it out: plans fuse by themselves",
    "fuse": "leave it out: plans fuse by themselves; cresset.passes.fuse shows what they make",
    "fuse_addmm": "use cresset.passes.rewrite, whose patterns say when it is right",
    "fuse_tensorexprs": "leave it out: plans fuse by themselves; cresset.passes.fuse shows what they make",
    "remove_expands": "leave it out: without them, inputs are accepted that they refuse",
    "replace_old_ops_with_upgraders": "leave it out: cresset.load does it",
    "specialize_autogradzero": "leave it out: gradients that are None are ruled out when a plan is made",
}


#: Those after which torch removes what they have left without uses.
_TIDY = {
    "constant_propagation",
    "constant_propagation_immutable_types",
    "fold_frozen_conv_add_or_sub",
    "fold_frozen_conv_bn",
    "fold_frozen_conv_mul_or_div",
    "fold_frozen_linear_bn",
    "lower_all_tuples",
    "peephole",
    "peephole_list_idioms",
}


def _run(name, names, graph, *args, **kwargs):
    """Runs the passes until they change nothing; a pass of torch's does in one go what takes ours some rounds."""
    any_changed = False
    for _ in range(8):
        changed = [getattr(passes, each)(graph) for each in names]
        if name in _TIDY and True in changed:
            passes.dce(graph)  # what has no use any more is in the way of other rewrites
        any_changed |= True in changed
        if True not in changed or len(names) == 1:
            break
    if name in _TIDY:
        any_changed |= passes.dce(graph)
    return any_changed


_OURS = (_C.Graph, _C._Object, ScriptModule)


def _of_either(ours):
    """Makes of a function of torch's one that calls ``ours`` where an argument is of Cresset's classes."""

    def make(theirs):
        @functools.wraps(theirs)
        def run(*args, **kwargs):
            is_ours = any(isinstance(argument, _OURS) for argument in (*args, *kwargs.values()))
            if args and args[0] is None and theirs.__name__.startswith("_jit_pass_"):
                raise TypeError(f"{theirs.__name__}(): a graph is expected, not None")  # torch's own reads its memory
            return (ours if is_ours else theirs)(*args, **kwargs)

        return run

    return make


def _read_lists(graph, refine_list_len=False):
    refining = ("refine_values",) if refine_list_len else ()
    return _run("peephole_list_idioms", (*refining, "read_containers", "peephole"), graph)


#: Passes of torch's that serve other tools of its own: how their names begin, and what to do instead.
_FAMILIES = {
    ("fixup_onnx", "filter_non_tensor", "onnx", "prepare_division"): "torch.onnx exports from torch.export",
    ("metal", "optimize_for_mobile", "transform_conv1d", "vulkan"): "there is no mobile format",
    (
        "dbr_quant",
        "dedup_module",
        "fold_prepacking",
        "fuse_clamp",
        "fuse_quantized",
        "insert_",
        "quant_",
        "replicate",
    ): ("quantize before scripting (torch.ao.quantization of the eager module)"),
    ("swap_functional_linear",): "leave it out: linear is one operator from the start",
    ("pattern_based_rewrite",): "use cresset.passes.rewrite of the graphs of its methods",
}


def _advice(name):
    for beginnings, advice in _FAMILIES.items():
        if name.startswith(beginnings):
            return advice
    return "docs/porting.md lists those that have one"


def _refuse(name, advice, *args, **kwargs):
    raise NotImplementedError(f"Cresset has no counterpart of torch._C._jit_pass_{name}: {advice}.")


def _canonicalize(graph, keep_unique_names=True):
    copy = graph.copy()
    named = [value for value in _values(copy.block()) if not value.debugName().isdigit()]
    names = [value.debugName() for value in named]
    passes.canonicalize(copy)
    if keep_unique_names:
        for value, name in zip(named, names):
            value.setDebugName(name)
    return copy


def _infer_inputs(graph, examples):
    """Gives the graph's inputs, but for self, the types of examples."""
    values = [value for value in graph.inputs() if value.type().kind() != "ClassType"]
    for value, example in zip(values, _pytree.tree_leaves(examples)):
        value.inferTypeFrom(example)


def _nodes(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _values(block):
    yield from block.inputs()
    for node in block.nodes():
        yield from node.outputs()
        for inner in node.blocks():
            yield from _values(inner)


def _take_apart(graph, value):
    """The parts of a value that are no tuples."""
    if value.type().kind() != "TupleType":
        return [value]
    types = value.type().elements()
    node = graph.insertNode(graph.create("prim::TupleUnpack", [value], len(types)))
    for part, type in zip(node.outputs(), types):
        part.setType(type)
    return [each for part in node.outputs() for each in _take_apart(graph, part)]


def _input_of_parts(graph, type, name):
    """A value of that type, of inputs that are no tuples."""
    if type.kind() != "TupleType":
        value = graph.addInput()
        value.setType(type)
        if not name.isdigit():
            value.setDebugName(name)
        return value
    parts = [_input_of_parts(graph, element, f"{name}_{i}") for i, element in enumerate(type.elements())]
    made = graph.insertNode(graph.create("prim::TupleConstruct", parts)).output()
    made.setType(type)
    return made


def _lower_all_tuples(graph):
    """Tuples that come in and go out, too: their elements become inputs and outputs."""
    inputs, outputs = list(graph.inputs()), list(graph.outputs())
    if any(value.type().kind() == "TupleType" for value in inputs):
        with graph.insert_point_guard(next(iter(graph.nodes()), graph.return_node())):
            for value in inputs:
                value.replaceAllUsesWith(_input_of_parts(graph, value.type(), value.debugName()))
        outputs = list(graph.outputs())
        for i in reversed(range(len(inputs))):
            graph.eraseInput(i)
    if any(value.type().kind() == "TupleType" for value in outputs):
        parts = [each for value in outputs for each in _take_apart(graph, value)]
        for i in reversed(range(len(outputs))):
            graph.eraseOutput(i)
        for value in parts:
            graph.registerOutput(value)
    _run("lower_all_tuples", ("lower_tuples", "simplify_branches"), graph)


def _create_autodiff_subgraphs(graph, threshold=2):
    passes.propagate_types(graph)
    passes.create_autodiff_subgraphs(graph, threshold)


def _rewrite(pattern, replacement, graph, value_name_pairs=()):
    passes.rewrite(graph, pattern, replacement, value_name_pairs)


def _rewrite_module(pattern, replacement, module, value_name_pairs=()):
    for each in _wrapped(module).modules():
        for name in each._c._method_names():
            passes.rewrite(each._c._get_method(name).graph, pattern, replacement, value_name_pairs)


#: Pattern and result, as the first operators of nodes; `one` is the constant 1.
_SUM_OF_PRODUCT = [
    (
        f"""
graph(%x, %a, %b):
  %beta : {beta} = prim::Constant[value={"1" if beta == "int" else "1."}]()
  %alpha : {alpha} = prim::Constant[value={"1" if alpha == "int" else "1."}]()
  %y = aten::addmm(%x, %a, %b, %beta, %alpha)
  return (%y)""",
        """
graph(%x, %a, %b):
  %one : int = prim::Constant[value=1]()
  %product = aten::mm(%a, %b)
  %y = aten::add(%x, %product, %one)
  return (%y)""",
    )
    for beta in ("int", "float")
    for alpha in ("int", "float")
]

_LINEAR = "\n  %y = aten::linear(%x, %weight, %bias)\n  return (%y)"
_LINEARS = [
    (
        """
graph(%x, %weight, %bias):
  %one : int = prim::Constant[value=1]()
  %transposed = aten::t(%weight)
  %product = aten::addmm(%bias, %x, %transposed, %one, %one)
  return (%product)""",
        f"graph(%x, %weight, %bias):{_LINEAR}",
    ),
    (
        """
graph(%x, %weight, %bias):
  %one : int = prim::Constant[value=1]()
  %transposed = aten::t(%weight)
  %product = aten::matmul(%x, %transposed)
  %sum = aten::add_(%product, %bias, %one)
  return (%sum)""",
        f"graph(%x, %weight, %bias):{_LINEAR}",
    ),
    (
        """
graph(%x, %weight):
  %transposed = aten::t(%weight)
  %product = aten::matmul(%x, %transposed)
  return (%product)""",
        f"graph(%x, %weight):\n  %bias : NoneType = prim::Constant(){_LINEAR}",
    ),
]


def _has_tensors_only(values):
    """Whether no bias is a number: `y.add_(2)` is no layer."""
    return values["bias"].type().kind() == "TensorType" if "bias" in values else True


def _fuse_linear(graph):
    for pattern, replacement in _LINEARS:
        rewrite_where(_has_tensors_only, graph, pattern, replacement, [("y", "product")])
    with contextlib.suppress(UserError):  # of operators that only the graph's reader knows
        passes.dce(graph)


def _decompose(graph):
    for pattern, replacement in _SUM_OF_PRODUCT:
        passes.rewrite(graph, pattern, replacement)
    passes.decompose(graph)


_decompositions = {}  # graphs that users have registered, by the text of the operator's schema


def _register_decomposition(schema, graph):
    _decompositions[str(_C.parse_schema(str(schema)))] = graph.copy()


def _run_decompositions(graph):
    for node in list(_nodes(graph.block())):
        decomposition = _decompositions.get(node.schema())
        if decomposition is None:
            continue
        with graph.insert_point_guard(node):
            made = graph.insertGraph(decomposition, list(node.inputs()))
        for old, new in zip(node.outputs(), made):
            old.replaceAllUsesWith(new)
        node.destroy()
    passes.decompose(graph)


def _wrapped(module):
    return module if isinstance(module, ScriptModule) else wrap(module)


def _allow_layouts(graph):
    """What stands for a conversion to oneDNN's layouts: convolutions may compute in one of their own, with weights that are
    packed once (docs/modules.md). Each has to, or not, by the graph that a plan optimizes."""
    _C._allow_any_layout(graph)


def _optimize_for_inference(module, other_methods=()):
    """In place, unlike cresset.optimize_for_inference; of a frozen module, before it runs."""
    methods = getattr(module, "_c", module)
    for name in ("forward", *other_methods):
        if methods._has_method(name):
            _C._allow_any_layout(methods._get_method(name).graph)


def _optimize_frozen(graph, optimize_numerics=True):
    passes.peephole(graph)
    if optimize_numerics:
        passes.fold_into_weights(graph)
    passes.dce(graph)


def _leave_to_plans(*args):
    """A pass that only makes calls faster, as the plans of calls do by themselves."""


def _remove_dropout(module):
    modules = list(_wrapped(module).modules())
    if any(each._c.hasattr("training") and each._c.getattr("training") for each in modules):
        raise RuntimeError(
            "Dropout removal module in training mode is not yet supported. Call module.eval() before it is scripted."
        )
    for each in modules:
        for name in each._c._method_names():
            passes.peephole(each._c._get_method(name).graph)


class _ShapeComputation:
    """What torch returns of sizes that are computed, as an object of its own."""

    def __init__(self, graph, symbols):
        self._graph = graph
        self._symbols = dict(zip(graph.outputs(), symbols))

    def partial_eval_shape_graph(self):
        """The graph that takes the sizes of tensors and returns those that are not known before."""
        return self._graph

    def graph_output_to_symbolic_shape_dim(self):
        """By output of the graph, which symbol in types it is."""
        return self._symbols


def _compute_shapes(graph, *range_of_nodes):
    return _ShapeComputation(*passes.compute_shapes(graph))


def _infer_shapes(graph, inputs, with_grad):
    _infer_inputs(graph, inputs)
    passes.propagate_shapes(graph)


def _freeze(module, preservedAttrs=(), freezeInterfaces=True, preserveParameters=False):  # noqa: N803  (torch's names)
    return _C._freeze_module(module, list(preservedAttrs), preserveParameters)._c


def _clone_without(module, ignored_methods, ignored_attributes):
    return getattr(module, "_c", module).clone(set(ignored_methods), set(ignored_attributes))


def _copy_with_shapes(graph, inputs, with_grad=False):
    shaped = graph.copy()
    leaves = _pytree.tree_leaves(inputs)
    _infer_inputs(shaped, leaves if with_grad else [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves])
    passes.propagate_shapes(shaped)
    return shaped


class _WithoutSelf:
    """What torch._C._jit_onnx_list_model_parameters returns as a module: its methods have no ``self``."""

    def __init__(self, methods):
        self._methods = methods

    def _get_method(self, name):
        return self._methods[name]


def _list_model_parameters(module):
    """Of a frozen module, ``forward`` as a function, and the tensors that it reads as attributes, which are its last inputs, with
    their paths as names. torch's readers of such graphs look for both: reads, which stay, of an object that the graph makes.
    """
    graph = module._get_method("forward").graph.copy()
    start, self_value = next(iter(graph.nodes()), graph.return_node()), graph.inputs()[0]
    made = graph.create("prim::CreateObject").insertBefore(start).output()
    made.setTypeAs(self_value)
    self_value.replaceAllUsesWith(made)
    graph.eraseInput(0)
    objects, parameters = {made.debugName(): ("", _wrapped(module))}, {}
    for node in [node for node in _nodes(graph.block()) if node.kind() == "prim::GetAttr"]:
        known = objects.get(node.input().debugName())
        if known is None:
            continue
        path, name = known[0], node.s("name")
        path, value = f"{path}.{name}" if path else name, getattr(known[1], name)
        objects[node.output().debugName()] = (path, value)
        if node.output().type().kind() == "TensorType" and path not in parameters:
            graph.addInput(path)
            parameters[path] = value
    return _WithoutSelf({"forward": SimpleNamespace(graph=graph, name="forward")}), list(parameters.values())


def _assign_input_shapes(graph, tensors, counts, with_grad=False, propagate=False):
    """A copy whose inputs have the types of examples, of which input i takes counts[i]."""
    shaped, first = graph.copy(), 0
    for value, count in zip(shaped.inputs(), counts):
        example = tensors[first] if count == 1 else None
        first += count
        if isinstance(example, torch.Tensor) and value.type().kind() == "TensorType":
            value.inferTypeFrom(example if with_grad else example.detach())
    if propagate:
        passes.propagate_shapes(shaped)
    return shaped


class _StaticModule(StaticModule):
    """torch's names of a static module's methods."""

    def runAsync(self, args, kwargs):  # noqa: N802
        return self.run_async(*args, **kwargs)

    def benchmark(self, args, kwargs, warmup_runs, main_runs):
        return super().benchmark(*args, warmup_runs=warmup_runs, main_runs=main_runs, **kwargs)

    def benchmark_individual_ops(self, args, kwargs, warmup_runs, main_runs):
        return super().benchmark_individual_ops(*args, warmup_runs=warmup_runs, main_runs=main_runs, **kwargs)


def _to_static_module(source):
    return _StaticModule(source if isinstance(source, _C.Graph) else _wrapped(source))


#: Functions of torch._C that are no passes.
_FUNCTIONS = {
    "_create_function_from_graph": _C.function_from_graph,
    "_freeze_module": _freeze,
    "_hack_do_not_use_clone_module_with_class": _clone_without,
    "_fuse_to_static_module": lambda source, min_size=10: None,  # plans do
    "_jit_onnx_list_model_parameters": _list_model_parameters,
    "_jit_to_static_module": _to_static_module,
    "_propagate_and_assign_input_shapes": _assign_input_shapes,
    "_jit_erase_non_input_shape_information": functools.partial(passes.erase_shapes, keep_inputs=True),
    "_jit_interpret_graph": lambda graph, inputs: _C.function_from_graph("graph", graph)(*inputs),
    "_jit_register_decomposition_for_schema": _register_decomposition,
    "_propagate_shapes": _copy_with_shapes,
}

#: Those with arguments of their own.
_OTHERS = {
    "canonicalize": _canonicalize,
    "complete_shape_analysis": _infer_shapes,
    "concat_frozen_linear": _leave_to_plans,
    "convert_frozen_ops_to_mkldnn": _allow_layouts,
    "create_autodiff_subgraphs": _create_autodiff_subgraphs,
    "custom_pattern_based_rewrite": _rewrite_module,
    "custom_pattern_based_rewrite_graph": _rewrite,
    "decompose_ops": _decompose,
    "fuse_frozen_conv_add_relu": _leave_to_plans,
    "fuse_linear": _fuse_linear,
    "lower_all_tuples": _lower_all_tuples,
    "lower_graph": passes.lower_graph,
    "optimize_for_inference": _optimize_for_inference,
    "optimize_frozen_graph": _optimize_frozen,
    "peephole_list_idioms": _read_lists,
    "propagate_shapes_on_graph_and_build_compute": _compute_shapes,
    "remove_dropout": _remove_dropout,
    "run_decompositions": _run_decompositions,
}


def functions(torch_c):
    """(name in torch._C, function that takes graphs of either) for this version of torch."""
    made = {name: _of_either(ours) for name, ours in _FUNCTIONS.items()}
    made["parse_ir"] = lambda theirs: functools.wraps(theirs)(parse_ir)
    rows = {name: functools.partial(_run, name, names) for name, names in _PASSES.items()}
    rows |= {name: functools.partial(_refuse, name, advice) for name, advice in NONE.items()}
    rows |= _OTHERS
    prefix = "_jit_pass_"
    for name in (each.removeprefix(prefix) for each in dir(torch_c) if each.startswith(prefix)):
        rows.setdefault(name, functools.partial(_refuse, name, _advice(name)))
    made |= {"_jit_pass_" + name: _of_either(ours) for name, ours in rows.items()}
    for name, make in made.items():
        if theirs := getattr(torch_c, name, None):
            yield name, make(theirs)
