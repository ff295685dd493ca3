"""Rows of torch_jit_behaviours.py about how types and schemas are named in texts."""

from typing import Dict, List, Optional, Tuple

import torch
from torch_jit_behaviours import row

# ruff: noqa: UP006, UP007, UP035, UP045


def types_of(function):
    return [value.type().str() for value in function.graph.inputs()]


@row("script")
def futures_inside_of_types(J):
    def f(
        a: torch.jit.Future[int],
        b: List[torch.jit.Future[int]],
        c: Optional[torch.jit.Future[int]],
        d: Tuple[torch.jit.Future[int], int],
        e: Dict[int, torch.jit.Future[int]],
        g: Optional[Dict[str, List[torch.jit.Future[int]]]],
    ):
        return a, b, c, d, e, g

    return types_of(J.script(f))


@row("graph")
def schemas_of_nodes(J):
    def f(x, n: int):
        y = [x, x]
        if n > 2:
            y.append(x)
        return torch.cat(y)

    graph = J.script(f).graph
    kinds = ["prim::ListConstruct", "aten::gt", "prim::If", "aten::append", "aten::cat"]
    return [graph.findNode(kind).schema() for kind in kinds]
