"""torch._C's functions over graphs, for graphs of Cresset's: what ``patch_torch_jit`` puts in their places."""

import contextlib
import functools

import torch
from torch.utils import _pytree

from . import _C, passes
from ._errors import UserError
from ._graphs import parse_ir
from ._objects import ScriptModule, wrap
from ._rewriting import rewrite_where

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
    "loop_unrolling": ("unroll",),
    "lower_all_tuples": ("lower_tuples",),
    "peephole": ("peephole", "simplify_numbers", "read_containers", "simplify_branches"),
    "propagate_device": ("propagate_types",),
    "propagate_dtype": ("propagate_types",),
    "propagate_shapes_on_graph": ("propagate_shapes",),
    "refine_integer_values": ("refine_values",),
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
    "refine_tuple_types": "leave it out: cresset.passes.lower_tuples gives elements values, and so types, of their own",
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
    "peephole",
    "peephole_list_idioms",
}


def _run(name, names, graph):
    """Runs the passes until they change nothing; a pass of torch's does in one go what takes ours some rounds."""
    any_changed = False
    for _ in range(8):
        changed = [getattr(passes, each)(graph) for each in names]
        if name in _TIDY and True in changed:
            passes.dce(graph)
        any_changed |= True in changed
        if True not in changed or len(names) == 1:
            break
    return any_changed


def _on_our_graphs(name, names, theirs):
    @functools.wraps(theirs)
    def run(graph, *args, **kwargs):
        return _run(name, names, graph) if isinstance(graph, _C.Graph) else theirs(graph, *args, **kwargs)

    return run


def _reads_lists_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph, refine_list_len=False):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, refine_list_len)
        refining = ("refine_values",) if refine_list_len else ()
        return _run("peephole_list_idioms", (*refining, "read_containers", "peephole"), graph)

    return run


def _refuses_our_graphs(name, advice, theirs):
    @functools.wraps(theirs)
    def run(graph, *args, **kwargs):
        if not isinstance(graph, (_C.Graph, _C._Object, ScriptModule)):
            return theirs(graph, *args, **kwargs)
        raise NotImplementedError(f"Cresset has no counterpart of torch._C._jit_pass_{name}: {advice}.")

    return run


def _canonicalizes_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(graph, keep_unique_names=True):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, keep_unique_names)
        copy = graph.copy()
        named = [value for value in _values(copy.block()) if not value.debugName().isdigit()]
        names = [value.debugName() for value in named]
        passes.canonicalize(copy)
        if keep_unique_names:
            for value, name in zip(named, names):
                value.setDebugName(name)
        return copy

    return run


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


def _makes_subgraphs_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph, threshold=None):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, threshold)
        passes.propagate_types(graph)
        return passes.create_autodiff_subgraphs(graph, 2 if threshold is None else threshold)

    return run


def _lowers_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(graph, module):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, module)
        return passes.lower_graph(graph, module)

    return run


def _rewrites_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(pattern, replacement, graph, value_name_pairs=()):
        if not isinstance(graph, _C.Graph):
            return theirs(pattern, replacement, graph, list(value_name_pairs))
        passes.rewrite(graph, pattern, replacement, value_name_pairs)
        return None

    return run


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


def _fuses_linear_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph):
        if not isinstance(graph, _C.Graph):
            return theirs(graph)
        for pattern, replacement in _LINEARS:
            rewrite_where(_has_tensors_only, graph, pattern, replacement, [("y", "product")])
        with contextlib.suppress(UserError):  # of operators that only the graph's reader knows
            passes.dce(graph)
        return None

    return run


def _decomposes_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(graph):
        if not isinstance(graph, _C.Graph):
            return theirs(graph)
        for pattern, replacement in _SUM_OF_PRODUCT:
            passes.rewrite(graph, pattern, replacement)
        passes.decompose(graph)
        return None

    return run


_decompositions = {}  # graphs that users have registered, by the text of the operator's schema


def _keeps_decompositions_of_ours(theirs):
    @functools.wraps(theirs)
    def register(schema, graph):
        if not isinstance(graph, _C.Graph):
            return theirs(schema, graph)
        _decompositions[str(_C.parse_schema(str(schema)))] = graph.copy()
        return None

    return register


def _runs_decompositions_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph):
        if not isinstance(graph, _C.Graph):
            return theirs(graph)
        for node in list(_nodes(graph.block())):
            decomposition = _decompositions.get(str(node.schema()))
            if decomposition is None:
                continue
            with graph.insert_point_guard(node):
                made = graph.insertGraph(decomposition, list(node.inputs()))
            for old, new in zip(node.outputs(), made):
                old.replaceAllUsesWith(new)
            node.destroy()
        passes.decompose(graph)
        return None

    return run


def _removes_dropout_of_ours(theirs):
    @functools.wraps(theirs)
    def run(module):
        if not isinstance(module, (_C._Object, ScriptModule)):
            return theirs(module)
        module = module if isinstance(module, ScriptModule) else wrap(module)
        if any(each._c.hasattr("training") and each._c.getattr("training") for each in module.modules()):
            raise RuntimeError(
                "Dropout removal module in training mode is not yet supported. Call module.eval() before it is scripted."
            )
        for each in module.modules():
            for name in each._c._method_names():
                passes.peephole(each._c._get_method(name).graph)
        return None

    return run


def _erases_shapes_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph):
        if not isinstance(graph, _C.Graph):
            return theirs(graph)
        return passes.erase_shapes(graph, keep_inputs=True)

    return run


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


def _computes_shapes_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph, *range_of_nodes):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, *range_of_nodes)
        return _ShapeComputation(*passes.compute_shapes(graph))

    return run


def _analyzes_shapes_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph, inputs, with_grad):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, inputs, with_grad)
        _infer_inputs(graph, inputs)
        passes.propagate_shapes(graph)
        return None

    return run


def _parses_graphs_of_ours(theirs):
    @functools.wraps(theirs)
    def parse(input, parse_tensor_constants=False):  # noqa: A002  (torch's name)
        return parse_ir(input, parse_tensor_constants)

    return parse


def _freezes_our_modules(theirs):
    @functools.wraps(theirs)
    def run(module, preservedAttrs=(), freezeInterfaces=True, preserveParameters=False):  # noqa: N803  (torch's names)
        if not isinstance(module, (_C._Object, ScriptModule)):
            return theirs(module, list(preservedAttrs), freezeInterfaces, preserveParameters)
        kept = list(preservedAttrs)
        if preserveParameters:
            wrapped = module if isinstance(module, ScriptModule) else wrap(module)
            kept += (name for name, _ in wrapped.named_parameters())
        return _C._freeze(module, kept, False)._c

    return run


def _shapes_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(graph, inputs, with_grad=False):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, inputs, with_grad)
        shaped = graph.copy()
        leaves = _pytree.tree_leaves(inputs)
        _infer_inputs(
            shaped, leaves if with_grad else [x.detach() if isinstance(x, torch.Tensor) else x for x in leaves]
        )
        passes.propagate_shapes(shaped)
        return shaped

    return run


def _makes_functions_of_ours(theirs):
    @functools.wraps(theirs)
    def run(name, graph):
        if not isinstance(graph, _C.Graph):
            return theirs(name, graph)
        return _C.function_from_graph(name, graph)

    return run


def _runs_graphs_of_ours(theirs):
    @functools.wraps(theirs)
    def run(graph, inputs):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, inputs)
        return _C.function_from_graph("graph", graph)(*inputs)

    return run


#: Functions of torch._C that are no passes.
_FUNCTIONS = {
    "_create_function_from_graph": _makes_functions_of_ours,
    "_freeze_module": _freezes_our_modules,
    "_jit_erase_non_input_shape_information": _erases_shapes_of_ours,
    "_jit_interpret_graph": _runs_graphs_of_ours,
    "_jit_register_decomposition_for_schema": _keeps_decompositions_of_ours,
    "_propagate_shapes": _shapes_our_graphs,
    "parse_ir": _parses_graphs_of_ours,
}

#: Those with arguments of their own.
_OTHERS = {
    "canonicalize": _canonicalizes_our_graphs,
    "complete_shape_analysis": _analyzes_shapes_of_ours,
    "create_autodiff_subgraphs": _makes_subgraphs_of_ours,
    "custom_pattern_based_rewrite_graph": _rewrites_our_graphs,
    "decompose_ops": _decomposes_our_graphs,
    "fuse_linear": _fuses_linear_of_ours,
    "lower_graph": _lowers_our_graphs,
    "propagate_shapes_on_graph_and_build_compute": _computes_shapes_of_ours,
    "remove_dropout": _removes_dropout_of_ours,
    "run_decompositions": _runs_decompositions_of_ours,
    "peephole_list_idioms": _reads_lists_of_ours,
}


def functions(torch_c):
    """(name in torch._C, function that takes graphs of either) for this version of torch."""

    def replaced(name, make):
        theirs = getattr(torch_c, "_jit_pass_" + name, None)
        if theirs is not None:
            yield "_jit_pass_" + name, make(theirs)

    for name, names in _PASSES.items():
        yield from replaced(name, functools.partial(_on_our_graphs, name, names))
    for name, advice in NONE.items():
        yield from replaced(name, functools.partial(_refuses_our_graphs, name, advice))
    for name, make in _OTHERS.items():
        yield from replaced(name, make)
    for name, make in _FUNCTIONS.items():
        if theirs := getattr(torch_c, name, None):
            yield name, make(theirs)
