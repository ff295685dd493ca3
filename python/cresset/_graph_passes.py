"""torch._C's functions over graphs, for graphs of Cresset's: what ``patch_torch_jit`` puts in their places."""

import functools

from . import _C, passes

# torch._C's name after "_jit_pass_", and the passes that do it.
_PASSES = {
    "constant_loop_unrolling": ("unroll",),
    "constant_pooling": ("pool_constants",),
    "constant_propagation": ("constant_propagation",),
    "constant_propagation_immutable_types": ("constant_propagation",),
    "cse": ("cse",),
    "dce": ("dce",),
    "dce_graph": ("dce",),
    "erase_shape_information": ("erase_shapes",),
    "inline": ("inline",),
    "lint": ("lint",),
    "loop_unrolling": ("unroll",),
    "lower_all_tuples": ("lower_tuples",),
    "peephole": ("peephole",),
    "peephole_list_idioms": ("remove_list_mutation", "peephole"),
    "propagate_device": ("propagate_types",),
    "propagate_dtype": ("propagate_types",),
    "propagate_shapes_on_graph": ("propagate_types",),
    "remove_mutation": ("remove_list_mutation", "remove_tensor_mutation"),
}


def _on_our_graphs(names, theirs):
    @functools.wraps(theirs)
    def run(graph, *args, **kwargs):
        if not isinstance(graph, _C.Graph):
            return theirs(graph, *args, **kwargs)
        for name in names:
            getattr(passes, name)(graph)
        return None

    return run


def _rewrites_our_graphs(theirs):
    @functools.wraps(theirs)
    def run(pattern, replacement, graph, *args, **kwargs):
        if not isinstance(graph, _C.Graph):
            return theirs(pattern, replacement, graph, *args, **kwargs)
        passes.rewrite(graph, pattern, replacement)
        return None

    return run


def functions(torch_c):
    """(name in torch._C, function that takes graphs of either) for this version of torch."""
    for name, names in _PASSES.items():
        theirs = getattr(torch_c, "_jit_pass_" + name, None)
        if theirs is not None:
            yield "_jit_pass_" + name, _on_our_graphs(names, theirs)
    name = "_jit_pass_custom_pattern_based_rewrite_graph"
    theirs = getattr(torch_c, name, None)
    if theirs is not None:
        yield name, _rewrites_our_graphs(theirs)
