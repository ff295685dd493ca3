"""What plans assume of tensors that are not strided, or of another size than what they are made of."""

import pytest
import torch
import torch.nn.functional as F

import cresset


def embedded(x, i):
    e = F.embedding(i, x * 2 + x, sparse=True)
    b = e * 2 + 1
    return (b * b).sum()


def embedded_leaf(x, i):
    e = F.embedding(i, x, sparse=True)
    b = e * 2 + 1
    return (b * b).sum()


def gathered(x, i):
    e = torch.relu(torch.gather(x * 2 + x, 0, i.unsqueeze(0), sparse_grad=True))
    b = e * 2 + 1
    return (b * b).sum()


def gathered_leaf(x, i):
    e = torch.relu(torch.gather(x, 0, i.unsqueeze(0), sparse_grad=True))
    b = e * 2 + 1
    return (b * b).sum()


def dropped_1d(x, i):
    y = F.dropout1d(x.unsqueeze(0) * 2 + 1, 0.5, True)
    return (y * 2 + 1).relu().sum() + y.size(1) + len(i)


def dropped_2d(x, i):
    y = F.dropout2d(x.unsqueeze(0).unsqueeze(3) * 2 + 1, 0.5, True)
    return (y * 2 + 1).relu().sum() + y.size(2) + len(i)


def dropped_3d(x, i):
    y = F.dropout3d(x.unsqueeze(0).unsqueeze(3).unsqueeze(4) * 2 + 1, 0.5, True)
    return (y * 2 + 1).relu().sum() + y.size(2) + len(i)


def dropped_alpha(x, i):
    y = F.feature_alpha_dropout(x.unsqueeze(0).unsqueeze(3) * 2 + 1, 0.5, True)
    return (y * 2 + 1).relu().sum() + y.size(2) + len(i)


FUNCTIONS = [embedded, embedded_leaf, gathered, gathered_leaf, dropped_1d, dropped_2d, dropped_3d, dropped_alpha]


def gradient(f, x, i):
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    y = f(x, i)
    return y.detach(), *torch.autograd.grad(y, x)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_scripts(f):
    scripted = cresset.script(f)
    for rows in (4, 4, 5, 4):
        x, i = torch.randn(rows, 3), torch.tensor([1, 0, 2])
        (value, wanted), (found_value, found) = gradient(f, x, i), gradient(scripted, x, i)
        torch.testing.assert_close(found_value, value)
        assert found.layout == wanted.layout
        torch.testing.assert_close(found.to_dense(), wanted.to_dense())


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_coo])
def test_traces_that_hold_a_sparse_tensor(layout):
    matrix = torch.eye(3).to_sparse(layout=layout)
    traced = cresset.trace(lambda x: (matrix @ x) * 2 + 1, (torch.ones(3, 3),), check_trace=False)
    for _ in range(4):
        x = torch.randn(3, 3, requires_grad=True)
        torch.testing.assert_close(traced(x), x * 2 + 1)
        torch.testing.assert_close(*torch.autograd.grad(traced(x).sum(), x), torch.full((3, 3), 2.0))
