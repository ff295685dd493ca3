"""torch._C's functions over graphs, for graphs of Cresset's: what ``patch_torch_jit`` puts in their places."""

import functools

import torch
from torch.utils import _pytree

from . import _C, passes
from ._objects import ScriptModule, wrap

# torch._C's name after "_jit_pass_", and the passes that do it. Aliases, in-place operators and the like that torch's pass
# leaves alone may be rewritten too: what a pass of Cresset's keeps stands in docs/passes.md.
_PASSES = {
    "autocast": ("insert_autocast_casts",),
    "complete_shape_analysis": ("propagate_shapes",),
    "constant_loop_unrolling": ("unroll",),
    "constant_pooling": ("pool_constants",),
    "constant_propagation": ("constant_propagation", "simplify_branches"),
    "constant_propagation_immutable_types": ("constant_propagation", "simplify_branches"),
    "cse": ("cse",),
    "dce": ("dce",),
    "dce_graph": ("dce",),
    "decompose_ops": ("decompose",),
    "erase_shape_information": ("erase_shapes",),
    "fold_convbn": ("fold_into_weights",),
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
    "remove_mutation": ("remove_list_mutation", "remove_dict_mutation", "remove_tensor_mutation"),
    "run_decompositions": ("decompose",),
}

#: Passes of torch's that have no counterpart, and what to do instead.
NONE = {
    "batch_mm": "leave it out: a batch of products raises where the separate ones do not, and has other bits",
    "canonicalize_graph_fuser_ops": "leave it out: plans fuse by themselves",
    "create_functional_graphs": "use cresset.passes.functionalize, which rewrites the whole graph",
    "dce_allow_deleting_nodes_with_side_effects": "use cresset.passes.dce, and node.destroy() for what has effects",
    "erase_number_types": "leave it out: it serves the exporter to ONNX",
    "fuse_add_relu": "leave it out: plans fuse by themselves",
    "fuse_linear": "leave it out: linear is one operator from the start",
    "fuse": "leave it out: plans fuse by themselves; cresset.passes.fuse shows what they make",
    "fuse_addmm": "use cresset.passes.rewrite, whose patterns say when it is right",
    "fuse_tensorexprs": "leave it out: plans fuse by themselves; cresset.passes.fuse shows what they make",
    "propagate_shapes_on_graph_and_build_compute": "use cresset.passes.propagate_shapes and Type.symbolic_sizes()",
    "refine_tuple_types": "leave it out: cresset.passes.lower_tuples gives elements values, and so types, of their own",
    "remove_dropout": "call module.eval() before torch.jit.freeze",
    "remove_expands": "leave it out: without them, inputs are accepted that they refuse",
    "replace_old_ops_with_upgraders": "leave it out: cresset.load does it",
    "specialize_autogradzero": "leave it out: gradients that are None are ruled out when a plan is made",
}


#: Those after which torch removes what they have left without uses.
_TIDY = {
    "constant_propagation",
    "constant_propagation_immutable_types",
    "fold_convbn",
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
    def run(pattern, replacement, graph, *args, **kwargs):
        if not isinstance(graph, _C.Graph):
            return theirs(pattern, replacement, graph, *args, **kwargs)
        passes.rewrite(graph, pattern, replacement)
        return None

    return run


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
        for value, example in zip(shaped.inputs(), _pytree.tree_leaves(inputs)):
            value.inferTypeFrom(example if with_grad or not isinstance(example, torch.Tensor) else example.detach())
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


#: Functions of torch._C that are no passes.
_FUNCTIONS = {
    "_create_function_from_graph": _makes_functions_of_ours,
    "_freeze_module": _freezes_our_modules,
    "_propagate_shapes": _shapes_our_graphs,
}

#: Those with arguments of their own.
_OTHERS = {
    "canonicalize": _canonicalizes_our_graphs,
    "create_autodiff_subgraphs": _makes_subgraphs_of_ours,
    "custom_pattern_based_rewrite_graph": _rewrites_our_graphs,
    "lower_graph": _lowers_our_graphs,
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
