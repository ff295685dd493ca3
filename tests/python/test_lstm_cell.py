"""One LSTM step as source text: compiled, printed, parsed back and run, with eager's bits."""

import pytest
import torch

import cresset

SOURCE = """
def LSTMCellS(x, hx, cx, w_ih, w_hh, b_ih, b_hh):
    gates = x.mm(w_ih.t()) + hx.mm(w_hh.t()) + b_ih + b_hh
    ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
    ingate = torch.sigmoid(ingate)
    forgetgate = torch.sigmoid(forgetgate)
    cellgate = torch.tanh(cellgate)
    outgate = torch.sigmoid(outgate)
    cy = (forgetgate * cx) + (ingate * cellgate)
    hy = outgate * torch.tanh(cy)
    return hy, cy
"""


def eager():
    names = {"torch": torch}
    exec(SOURCE, names)  # noqa: S102
    return names["LSTMCellS"]


def inputs(batch, width, dtype, requires_grad=False):
    generator = torch.Generator().manual_seed(batch * 1000 + width)
    shapes = [
        (batch, width),
        (batch, width),
        (batch, width),
        (4 * width, width),
        (4 * width, width),
        (4 * width,),
        (4 * width,),
    ]
    tensors = [torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]
    return [t.requires_grad_(requires_grad) for t in tensors]


@pytest.fixture(scope="module")
def cell():
    return cresset.CompilationUnit(SOURCE).LSTMCellS


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("batch, width", [(1, 64), (3, 10), (20, 512)])
def test_the_same_bits_as_eager(cell, batch, width, dtype):
    args = inputs(batch, width, dtype)
    hidden, expected = cell(*args), eager()(*args)
    for _ in range(3):
        assert all(torch.equal(a, b) for a, b in zip(hidden, expected, strict=True))
        args[1:3] = hidden
        hidden, expected = cell(*args), eager()(*args)


def test_the_same_gradients_as_eager(cell):
    grads = []
    for function in (cell, eager()):
        args = inputs(3, 10, torch.float32, requires_grad=True)
        hy, cy = function(*args)
        (hy.sum() * cy.sum()).backward()
        grads.append([a.grad for a in args])
    assert all(torch.equal(a, b) for a, b in zip(*grads, strict=True))


def test_its_graph_is_text_that_reads_back(cell):
    text = str(cell.graph)
    assert str(cresset.parse_ir(text)) == text
    kinds = [node.kind() for node in cell.graph.nodes() if node.kind() != "prim::Constant"]
    assert kinds == [
        *["aten::t", "aten::mm"] * 2,
        *["aten::add"] * 3,
        "aten::chunk",
        "prim::ListUnpack",
        *["aten::sigmoid", "aten::sigmoid", "aten::tanh", "aten::sigmoid"],
        *["aten::mul", "aten::mul", "aten::add", "aten::tanh", "aten::mul", "prim::TupleConstruct"],
    ]


def test_its_code_compiles_to_the_same_program(cell):
    again = cresset.CompilationUnit(cell.code)
    args = inputs(3, 10, torch.float32)
    assert all(torch.equal(a, b) for a, b in zip(again.LSTMCellS(*args), cell(*args), strict=True))
    assert again.LSTMCellS.code == cell.code
