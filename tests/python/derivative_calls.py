"""Calls of every operator that has derivative rules, for test_derivatives.py."""

import torch

from cresset import _C

OPERATORS = _C._differentiable_operators()


def randn(*sizes, positive=False, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(sizes))
    tensor = torch.randn(sizes, dtype=torch.float64, generator=generator)
    return tensor.abs() + 0.5 if positive else tensor


def plain(tensor):
    """An argument that is not differentiated."""
    return NotDifferentiated(tensor)


class NotDifferentiated:
    def __init__(self, tensor):
        self.tensor = tensor


X, Y, Z = randn(3, 4), randn(3, 4, seed=1), randn(4, seed=2)
MASK = randn(3, 4, seed=3) > 0
Q, K, V = randn(2, 2, 3, 5), randn(2, 2, 4, 5), randn(2, 2, 4, 5, seed=4)
P = X.abs() + 0.5
SQUARE = randn(3, 3) + 3 * torch.eye(3)
SQUARES = randn(2, 3, 3) + 3 * torch.eye(3)
INDEX = torch.tensor([2, 0, 2])

LAYER = "t, u, v = torch.native_layer_norm(b, [4], c, d, 1e-5)"
BATCH = "t, u, v = torch.native_batch_norm(b, c, None, None, None, True, 0.1, 1e-5)"

#: The expression of each rule's call, and its arguments; tensors of floats among them are differentiated.
CALLS = {
    "aten::add.Tensor": [("a + b", X, Z), ("torch.add(a, b, alpha=3)", Z, X), ("torch.add(a, b, alpha=0.5)", X, Y)],
    "aten::add.Scalar": [("a + 2.5", X), ("torch.add(a, 2, alpha=3)", X)],
    "aten::sub.Tensor": [("a - b", X, Z), ("torch.sub(a, b, alpha=2)", Z, X)],
    "aten::sub.Scalar": [("a - 1", X)],
    "aten::rsub.Scalar": [("torch.rsub(a, 2)", X), ("torch.rsub(a, 2, alpha=3)", X)],
    "aten::mul.Tensor": [("a * b", X, Z), ("a * b", randn(1, 4), randn(3, 1)), ("a * a", X)],
    "aten::mul.Scalar": [("a * 3", X), ("a * 0.1", X)],
    "aten::div.Tensor": [("a / b", X, Z.abs() + 1), ("a / b", Z, X.abs() + 1)],
    "aten::div.Scalar": [("a / 3", X)],
    "aten::square": [("torch.square(a)", X)],
    "aten::addcmul": [("torch.addcmul(a, b, c, value=0.5)", X, Y, Z)],
    "aten::lerp.Scalar": [("torch.lerp(a, b, 0.3)", X, Y)],
    "aten::where.self": [("torch.where(m, a, b)", X, Z)],
    "aten::native_dropout_backward": [("torch.ops.aten.native_dropout_backward(a, m, 2.0)", X)],
    "aten::masked_fill.Scalar": [
        ("a.masked_fill(m, 2.0)", X),
        ("torch.softmax(a, 1).masked_fill(m, 2.0)", randn(1, 4)),
    ],
    "aten::pow.Tensor_Scalar": [("a ** 3", X), ("a ** 2", X), ("a ** 0", X), ("a ** 0.5", X.abs() + 1), ("a ** 1", X)],
    "aten::gelu": [("torch.nn.functional.gelu(a)", X), ("torch.nn.functional.gelu(a, approximate='tanh')", X)],
    "aten::softplus": [("torch.nn.functional.softplus(a)", X), ("torch.nn.functional.softplus(a, 2.0, 0.5)", X)],
    "aten::silu": [("torch.nn.functional.silu(a)", X)],
    "aten::leaky_relu": [("torch.nn.functional.leaky_relu(a, 0.2)", X)],
    "aten::elu": [("torch.nn.functional.elu(a)", X)],
    "aten::hardtanh": [("torch.nn.functional.hardtanh(a)", X)],
    "aten::tanh_backward": [("torch.ops.aten.tanh_backward(a, b)", X, Y)],
    "aten::sigmoid_backward": [("torch.ops.aten.sigmoid_backward(a, b)", X, Y)],
    "aten::threshold_backward": [("torch.ops.aten.threshold_backward(a, b, 0)", X, Y)],
    "cresset::copy": [
        ("t = b.clone(); t.copy_(c); t + b", X, Y, Z),
        ("t = torch.zeros_like(b); t.copy_(c); t", X, Y, Z),
    ],
    "cresset::zero": [("t = b + c; t.zero_(); t + b", X, Y, Z)],
    "cresset::fill.Scalar": [("t = b + c; t.fill_(2.0); t + b", X, Y, Z)],
    "cresset::fill.Tensor": [("t = b + c; t.fill_(c[1]); t + b", X, Y, Z)],
    "cresset::select_assign": [
        ("t = b.clone(); t[1] = c; t", X, Y, Z),
        ("t = b.clone(); t[:, -1] = c.sum(); t", X, Y, Z),
        ("t = torch.zeros_like(b); t[0, 2] = b[1, 1] * c[0]; t[2] += c; t", X, Y, Z),
    ],
    "cresset::slice_assign": [
        ("t = b.clone(); t[1:] = c; t", X, Y, Z),
        ("t = b + c; t[:, ::2] = b[:, :2]; t[:] = t * 2.0 + c; t", X, Y, Z),
        ("t = torch.zeros(3, 4, dtype=b.dtype); t[:2, 1:3] = c[:2]; t[1:] *= 3; t", X, Y, Z),
    ],
    "aten::mm": [
        ("a.mm(b)", X, randn(4, 5)),
        ("a.mm(b.t())", X, randn(5, 4)),
        ("a.t().mm(b)", X, randn(3, 5)),
        ("a.t().mm(b.t())", X, randn(5, 3)),
        ("a.mm(b)", randn(1, 4), randn(4, 1)),
        ("a.mm(b)", randn(3, 1), randn(1, 4)),
    ],
    "aten::bmm": [("a.bmm(b)", randn(2, 3, 4), randn(2, 4, 5))],
    "aten::addmm": [
        ("torch.addmm(a, b, c)", randn(5), X, randn(4, 5)),
        ("torch.addmm(a, b, c, beta=2, alpha=0.5)", randn(5), X, randn(4, 5)),
    ],
    "aten::linear": [
        ("torch.nn.functional.linear(a, b, c)", X, randn(5, 4), randn(5)),
        ("torch.nn.functional.linear(a, b)", X, randn(5, 4)),
        ("torch.nn.functional.linear(a, b)", randn(3, 0), randn(5, 0)),
        ("torch.nn.functional.linear(a, b)", randn(4), randn(5, 4)),
        ("torch.nn.functional.linear(a, b, c)", randn(2, 3, 4), randn(5, 4), randn(5)),
        ("torch.nn.functional.linear(a.transpose(0, 1), b, c)", randn(2, 3, 4), randn(5, 4), randn(5)),
    ],
    "aten::softmax.int": [("torch.softmax(a, 1)", X)],
    "aten::log_softmax.int": [("torch.log_softmax(a, -1)", X)],
    "aten::native_layer_norm": [
        ("torch.nn.functional.layer_norm(a, [4], b, c)", X, Z, randn(4, seed=6)),
        ("torch.nn.functional.layer_norm(a, [4])", X),
    ],
    "aten::mv": [("a.mv(b)", X, Z)],
    "aten::dot": [("a.dot(b)", Z, randn(4, seed=5))],
    "aten::t": [("a.t()", X)],
    "aten::transpose.int": [("a.transpose(0, -1)", randn(2, 3, 4)), ("torch.swapaxes(a, 0, 1)", X)],
    "aten::permute": [("a.permute([2, 0, 1])", randn(2, 3, 4)), ("a.permute([-1, 0, 1])", randn(2, 3, 4))],
    "aten::view": [("a.view([2, -1])", X)],
    "aten::reshape": [("a.reshape([2, 6])", X)],
    "aten::unsqueeze": [("a.unsqueeze(1)", X), ("a.unsqueeze(-1)", X)],
    "aten::squeeze.dim": [("a.squeeze(1)", randn(3, 1, 2)), ("a.squeeze(0)", X)],
    "aten::_grad_sum_to_size": [
        ("torch._grad_sum_to_size(a, [1, 4])", X),
        ("torch._grad_sum_to_size(a, [3, 4]) * b", X, Z),
        ("torch._grad_sum_to_size(a, [3]) * b", randn(2, 4, 3), randn(3)),
    ],
    "aten::expand": [("a.expand([2, 3, 4])", X), ("a.expand([3, 4])", randn(3, 1))],
    "aten::chunk": [("p, q = a.chunk(2, 1); p * q", X), ("p, q = a.chunk(2, 1); q * 3", X)],
    "aten::split.Tensor": [("p, q = a.split(3, 1); torch.mm(p, p) * q", randn(3, 4))],
    "aten::split_with_sizes": [("p, q = torch.split_with_sizes(a, [1, 3], 1); p * q[:, :1]", X)],
    "aten::unbind.int": [("p, q, s = a.unbind(0); p * q + s", X)],
    "aten::clone": [("a.clone()", X)],
    "aten::contiguous": [
        ("a.contiguous()", X),
        ("a.contiguous() * b.contiguous()", X, Y),
        ("(b * 2.0).contiguous() * b", X, Y),
    ],
    "aten::select.int": [("a[1]", X), ("a.select(1, -1)", X)],
    "aten::slice.Tensor": [("a[1:]", X), ("a[:, 1:3]", X), ("a[::2]", X)],
    "aten::sum": [("a.sum()", X), ("a.sum(dtype=torch.float64)", X)],
    "aten::sum.dim_IntList": [("a.sum(1)", X), ("a.sum([0, -1])", randn(2, 3, 4)), ("a.sum(0, keepdim=True)", X)],
    "aten::mean": [("a.mean()", X), ("a.mean(dtype=torch.float64)", X)],
    "aten::mean.dim": [("a.mean(1)", X), ("a.mean([0, -1])", randn(2, 3, 4)), ("a.mean(-1, keepdim=True)", X)],
    "aten::_softmax": [("torch._softmax(a, 1, False)", X)],
    "aten::_log_softmax": [("torch._log_softmax(a, -1, False)", X)],
    "aten::mse_loss": [
        ("torch.ops.aten.mse_loss(a, b)", X, Y),
        ("torch.ops.aten.mse_loss(a, b, 2)", X, Y),
        ("torch.ops.aten.mse_loss(torch.softmax(a, 1), b)", randn(1, 4), Y),
    ],
    "aten::index_select": [("a.index_select(0, i)", X)],
    "aten::gather": [("a.gather(0, i.unsqueeze(1))", X)],
    "aten::index_add": [
        ("a.index_add(0, i, b)", randn(5, 4), X),
        ("torch.index_add(a, 0, i, b, alpha=2)", randn(5, 4), X),
    ],
    "aten::scatter_add": [("a.scatter_add(0, i.unsqueeze(1).expand([3, 4]), b)", randn(5, 4), X)],
    "aten::embedding": [("torch.embedding(a, i)", X), ("torch.embedding(a, i, 2)", X)],
    "aten::cat": [
        ("torch.cat([a, b], 1)", X, randn(3, 2)),
        ("torch.cat([a, b, a], -2)", X, Y),
        ("torch.cat([a * b, m, b])", X, Y),
    ],
    "aten::stack": [("torch.stack([a, b], 1)", X, Y), ("torch.stack([a, a * 2, b], -1)", X, Y)],
    "aten::index.Tensor": [
        ("a[i]", X),
        ("a[:, i]", X),
        ("a[i, i]", X),
        ("a[m]", X),
        ("a[i.unsqueeze(1), i.unsqueeze(0)]", X),
    ],
    "aten::index_put": [
        ("torch.ops.aten.index_put(a, [None, i[:2]], b)", X, randn(3, 2)),
        ("torch.ops.aten.index_put(a, [None, i], b, True)", X, randn(1)),
    ],
    # Element by element.
    "aten::rsub.Tensor": [("torch.rsub(a, b)", X, Z), ("torch.rsub(a, b, alpha=3)", Z, X)],
    "aten::div.Tensor_mode": [
        ("torch.div(a, b, rounding_mode='floor')", X, P),
        ("torch.div(a, b, rounding_mode='trunc')", X, P),
        ("torch.div(a, b, rounding_mode=None)", X, P),
    ],
    "aten::div.Scalar_mode": [
        ("torch.div(a, 0.3, rounding_mode='floor')", X),
        ("torch.div(a, 0.3, rounding_mode=None)", X),
    ],
    "aten::addcdiv": [("torch.addcdiv(a, b, c, value=0.5)", X, Y, P), ("torch.addcdiv(a, b, c, value=3.14)", Z, X, P)],
    "aten::lerp.Tensor": [("torch.lerp(a, b, c)", X, Y, Z)],
    "aten::where.ScalarSelf": [("torch.where(m, 2.0, a)", X)],
    "aten::where.ScalarOther": [("torch.where(m, a, 2.0)", X)],
    "aten::masked_fill.Tensor": [("a.masked_fill(m, b)", X, randn())],
    "aten::fmod.Scalar": [("torch.fmod(a, 0.7)", X)],
    "aten::fmod.Tensor": [("torch.fmod(a, b)", X, P)],
    "aten::remainder.Scalar": [("torch.remainder(a, 0.7)", X)],
    "aten::remainder.Tensor": [("torch.remainder(a, b)", X, P)],
    "aten::ldexp.Tensor": [
        ("torch.ldexp(a, i.unsqueeze(1))", X),
        ("torch.ldexp(a, b)", X, Y),
        ("torch.ldexp(a.sum(), b)", X, Y),
    ],
    "aten::atan2": [("torch.atan2(a, b)", X, Y), ("torch.atan2(a, b)", X, Z)],
    "aten::hypot": [("torch.hypot(a, b)", X, Z)],
    "aten::logaddexp": [("torch.logaddexp(a, b)", X, Z)],
    "aten::logaddexp2": [("torch.logaddexp2(a, b)", X, Z)],
    "aten::xlogy.Tensor": [("torch.xlogy(a, b)", X, P)],
    "aten::xlogy.Scalar_Self": [("torch.xlogy(2.0, a)", P)],
    "aten::xlogy.Scalar_Other": [("torch.xlogy(a, 2.0)", X)],
    "aten::pow.Tensor_Tensor": [("torch.pow(a, b)", P, X), ("torch.pow(a, b)", P, Z)],
    "aten::special_xlog1py": [("torch.special.xlog1py(a, b)", X, P), ("torch.special.xlog1py(a, b)", X, P[0])],
    "aten::special_xlog1py.self_scalar": [("torch.special.xlog1py(2.0, a)", P)],
    "aten::special_xlog1py.other_scalar": [("torch.special.xlog1py(a, 2.0)", X)],
    "aten::pow.Scalar": [("torch.pow(2.5, a)", X), ("torch.pow(2, a)", X)],
    "aten::copysign.Tensor": [("torch.copysign(a, b)", X, Y)],
    "aten::copysign.Scalar": [("torch.copysign(a, -2.0)", X)],
    "aten::maximum": [("torch.maximum(a, b)", X, Z), ("torch.maximum(a, a)", X)],
    "aten::minimum": [("torch.minimum(a, b)", X, Z)],
    "aten::fmax": [("torch.fmax(a, b)", X, Z)],
    "aten::fmin": [("torch.fmin(a, b)", X, Z)],
    "aten::clamp": [("torch.clamp(a, -0.3, 0.4)", X), ("torch.clamp(a, min=0)", X), ("torch.clamp(a, max=0.2)", X)],
    "aten::clamp.Tensor": [
        ("torch.clamp(a, b, c)", X, Z - 1, Z + 0.1),
        ("torch.clamp(a, min=b)", X, Z),
        ("torch.clamp(a, max=b)", X, Z),
    ],
    "aten::clamp_min": [("torch.clamp_min(a, 0.1)", X)],
    "aten::clamp_min.Tensor": [("torch.clamp_min(a, b)", X, Z)],
    "aten::clamp_max": [("torch.clamp_max(a, 0.1)", X)],
    "aten::clamp_max.Tensor": [("torch.clamp_max(a, b)", X, Z)],
    "aten::polygamma": [("torch.polygamma(1, a)", P), ("torch.polygamma(2, a)", P)],
    "aten::sinc": [("torch.sinc(a)", X), ("torch.sinc(a)", torch.zeros(3, dtype=torch.float64))],
    "aten::logit": [("torch.logit(torch.sigmoid(a))", X), ("torch.logit(torch.sigmoid(a), 0.1)", X)],
    "aten::round.decimals": [("torch.round(a, decimals=1) + a", X)],
    "aten::celu": [("torch.celu(a)", X), ("torch.celu(a, 0.3)", X)],
    "aten::softshrink": [("torch.nn.functional.softshrink(a, 0.2)", X)],
    "aten::hardshrink": [("torch.hardshrink(a, 0.2)", X)],
    "aten::threshold": [("torch.threshold(a, 0.1, 0.4)", X)],
    "aten::glu": [("torch.nn.functional.glu(a, 1)", X), ("torch.nn.functional.glu(a)", X)],
    "aten::hardswish": [("torch.nn.functional.hardswish(a)", X * 4)],
    "aten::hardsigmoid": [("torch.nn.functional.hardsigmoid(a)", X * 4)],
    "aten::mish": [("torch.nn.functional.mish(a)", X)],
    "aten::log_sigmoid_forward": [("torch.nn.functional.logsigmoid(a)", X)],
    "aten::prelu": [
        ("torch.prelu(a, b)", X, randn(1)),
        ("torch.prelu(a, b)", X, Z),
        ("torch.prelu(a, b)", randn(2, 3, 4), randn(3)),
    ],
    "aten::to.dtype": [("a.to(torch.float64).sin().to(b.dtype) * b", X, Y)],
    "aten::to.dtype_layout": [("torch.ops.aten.to(a, dtype=torch.float64, layout=torch.strided).sin()", X)],
    "aten::_to_copy": [("torch.ops.aten._to_copy(a, dtype=torch.float64).sin()", X)],
    # Second derivatives of kernels.
    "aten::gelu_backward": [
        ("torch.ops.aten.gelu_backward(a, b)", X, Y),
        ("torch.ops.aten.gelu_backward(a, b, approximate='tanh')", X, Y),
    ],
    "aten::softplus_backward": [("torch.ops.aten.softplus_backward(a, b, 2.0, 0.5)", X, Y)],
    "aten::elu_backward": [
        ("torch.ops.aten.elu_backward(a, 1.5, 0.7, 2.0, False, b)", X, Y),
        ("torch.ops.aten.elu_backward(a, 1.5, 0.7, 2.0, True, b)", X, Y),
    ],
    "aten::leaky_relu_backward": [("torch.ops.aten.leaky_relu_backward(a, b, 0.2, False)", X, Y)],
    "aten::hardtanh_backward": [("torch.ops.aten.hardtanh_backward(a, b, -1, 1)", X, Y)],
    "aten::hardswish_backward": [("torch.ops.aten.hardswish_backward(a, b)", X, Y * 3)],
    "aten::softshrink_backward": [("torch.ops.aten.softshrink_backward(a, b, 0.3)", X, Y)],
    "aten::hardshrink_backward": [("torch.ops.aten.hardshrink_backward(a, b, 0.3)", X, Y)],
    "aten::log_sigmoid_backward": [("torch.ops.aten.log_sigmoid_backward(a, b, torch.exp(-b.detach().abs()))", X, Y)],
    "aten::glu_backward": [("torch.ops.aten.glu_backward(a, b, 1)", randn(3, 2), randn(3, 4))],
    # Matrices.
    "aten::baddbmm": [
        ("torch.baddbmm(a, b, c)", randn(2, 3, 5), randn(2, 3, 4), randn(2, 4, 5)),
        ("torch.baddbmm(a, b, c, beta=2, alpha=0.5)", randn(3, 5), randn(2, 3, 4), randn(2, 4, 5)),
    ],
    "aten::addbmm": [("torch.addbmm(a, b, c, beta=0.3, alpha=2)", randn(3, 5), randn(2, 3, 4), randn(2, 4, 5))],
    "aten::addmv": [("torch.addmv(a, b, c, alpha=2)", randn(3), X, Z)],
    "aten::addr": [("torch.addr(a, b, c, beta=2)", X, randn(3), Z)],
    "aten::matmul": [
        ("torch.matmul(a, b)", Z, randn(4, seed=9)),
        ("torch.matmul(a, b)", X, Z),
        ("torch.matmul(b, a)", randn(4, 3), Z),
        ("torch.matmul(a, b)", X, randn(4, 5)),
        ("torch.matmul(a.t(), b.t())", randn(4, 3), randn(5, 4)),
        ("torch.matmul(a, b)", randn(2, 3, 4), randn(2, 4, 5)),
        ("torch.matmul(a, b)", randn(2, 1, 3, 4), randn(6, 4, 5)),
        ("torch.matmul(a, b)", randn(2, 3, 4), randn(2, 2, 4, 5)),
        ("torch.matmul(a, b.transpose(-2, -1))", randn(2, 3, 4), randn(2, 5, 4)),
    ],
    "aten::tril": [("torch.tril(a)", X), ("torch.tril(a, 1)", randn(2, 3, 4))],
    "aten::triu": [("torch.triu(a, -1)", X)],
    "aten::diagonal": [("torch.diagonal(a)", X), ("torch.diagonal(a, 1, -2, -1)", randn(2, 3, 4))],
    "aten::diagonal_backward": [("torch.ops.aten.diagonal_backward(a, [3, 4], 1, 0, 1)", randn(3))],
    "aten::diag_embed": [("torch.diag_embed(a)", X), ("torch.diag_embed(a, 1, 0, 2)", X)],
    "aten::diag": [("torch.diag(a)", X), ("torch.diag(a, 1)", Z)],
    "aten::linalg_cross": [("torch.linalg.cross(a, b)", randn(2, 3), randn(1, 3))],
    "aten::linalg_inv": [("torch.linalg.inv(a)", SQUARE), ("torch.inverse(a)", SQUARES)],
    "aten::linalg_inv_ex": [("torch.linalg.inv_ex(a)[0]", SQUARES)],
    "aten::linalg_cholesky": [("torch.linalg.cholesky(a.mm(a.t()))", SQUARE)],
    "aten::cholesky": [("torch.cholesky(a.mm(a.t()), upper=True)", SQUARE)],
    "aten::linalg_cholesky_ex": [("torch.linalg.cholesky_ex(a.mm(a.t()))[0]", SQUARE)],
    "aten::_linalg_solve_ex": [
        ("torch.linalg.solve(a, b)", SQUARE, randn(3, 2)),
        ("torch.linalg.solve(a, b)", SQUARE, randn(3)),
        ("torch.linalg.solve(a.transpose(-2, -1), b)", SQUARES, randn(2, 3, 2)),
        ("torch.linalg.solve(a, b, left=False)", SQUARE, randn(2, 3)),
    ],
    "aten::linalg_slogdet": [("s, d = torch.linalg.slogdet(a); d", SQUARES)],
    "aten::slogdet": [("s, d = torch.slogdet(a); d", SQUARE)],
    "aten::linalg_qr": [
        ("q, s = torch.linalg.qr(a); q.mm(s * s)", randn(4, 3)),
        ("q, s = torch.linalg.qr(a); s", SQUARES),
        ("q, s = torch.linalg.qr(a); q.mm(s * s)", randn(3, 4)),
    ],
    "aten::qr": [("q, s = torch.qr(a); q.mm(s)", randn(4, 3))],
    "aten::svd": [("u, v, w = torch.svd(a); u.mm(v.diag()).mm(w.mT)", randn(3, 4))],
    "aten::linalg_eigh": [
        ("v, q = torch.linalg.eigh(a + a.mT); (q * q) * v", SQUARE),
        ("v, q = torch.linalg.eigh(a + a.mT); v", SQUARES),
        ("v, q = torch.linalg.eigh(a); q * q", SQUARE),
        ("v, q = torch.linalg.eigh(a, 'U'); v", SQUARES + SQUARES.mT),
    ],
    "aten::_linalg_eigh": [("torch.linalg.eigvalsh(a + a.mT)", SQUARES)],
    "aten::linalg_svd": [
        (
            f"u, v, w = torch.linalg.svd(a, full_matrices={full}); (u * u)[:, :3].mm((w * w)[:3] * v.unsqueeze(1))",
            randn(*sizes),
        )
        for full, sizes in ((False, (4, 3)), (False, (3, 4)), (True, (3, 3)))
    ]
    + [
        ("u, v, w = torch.linalg.svd(a, full_matrices=False); v", randn(4, 3)),
        ("u, v, w = torch.linalg.svd(a, full_matrices=False); u * u", randn(4, 3)),
        ("u, v, w = torch.linalg.svd(a, full_matrices=False); w * w", randn(4, 3)),
    ],
    "aten::_linalg_svd": [("torch.linalg.svdvals(a)", randn(4, 3)), ("torch.linalg.svdvals(a)", randn(2, 3, 4))],
    "aten::linalg_solve_triangular": [
        ("torch.linalg.solve_triangular(a, b, upper=True)", SQUARE, randn(3, 2)),
        ("torch.linalg.solve_triangular(a, b, upper=False, left=False)", SQUARE, randn(2, 3)),
    ],
    "aten::_linalg_det": [("torch.linalg.det(a)", SQUARE), ("torch.det(a)", SQUARES)],
    "aten::_linalg_slogdet": [("torch.ops.aten._linalg_slogdet(a)[1]", SQUARES), ("torch.logdet(a @ a.t())", SQUARE)],
    "aten::cdist": [("torch.cdist(a, b)", X, randn(5, 4)), ("torch.cdist(a, b, p=1.0)", randn(2, 3, 4), randn(5, 4))],
    # Norms.
    "aten::linalg_vector_norm": [
        ("torch.linalg.vector_norm(a)", X),
        ("torch.linalg.vector_norm(a, 1, dim=[1])", X),
        ("torch.linalg.vector_norm(a, 3.5, dim=[0], keepdim=True)", X),
        ("torch.linalg.vector_norm(a, 1.5, dim=[0])", X),
        ("torch.linalg.vector_norm(a, 0.5, dim=[0])", X),
        ("torch.linalg.vector_norm(a, float('inf'), dim=[0])", X),
        ("torch.linalg.norm(a, dim=[1])", X),
    ],
    "aten::norm.Scalar": [("torch.ops.aten.norm(a, 2)", X), ("torch.ops.aten.norm(a, 3)", X)],
    "aten::norm.ScalarOpt_dim": [("torch.ops.aten.norm(a, 2, [1])", X), ("torch.ops.aten.norm(a, None, [0], True)", X)],
    "aten::norm.ScalarOpt_dtype": [("torch.ops.aten.norm(a, 2, dtype=torch.float64)", X)],
    "aten::norm.ScalarOpt_dim_dtype": [("torch.ops.aten.norm(a, 2, [1], False, dtype=torch.float64)", X)],
    "aten::dist": [("torch.dist(a, b)", X, Z), ("torch.dist(a, b, 3)", X, Y)],
    # Shapes.
    "aten::_unsafe_view": [("torch.ops.aten._unsafe_view(a, [2, 6])", X)],
    "aten::_reshape_alias": [("torch.ops.aten._reshape_alias(a, [2, 6], [6, 1])", X)],
    "aten::flatten.using_ints": [("torch.flatten(a)", X), ("torch.flatten(a, 1)", randn(2, 3, 4))],
    "aten::unflatten.int": [("torch.unflatten(a, 1, [2, 2])", X)],
    "aten::squeeze": [("torch.squeeze(a)", randn(3, 1, 2))],
    "aten::squeeze.dims": [("torch.squeeze(a, [0, 1])", randn(3, 1, 2))],
    "aten::broadcast_to": [("torch.broadcast_to(a, [2, 3, 4])", X)],
    "aten::movedim.int": [("torch.movedim(a, 0, -1)", randn(2, 3, 4))],
    "aten::movedim.intlist": [("torch.movedim(a, [0, 1], [2, 0])", randn(2, 3, 4))],
    "aten::numpy_T": [("a.T", X)],
    "aten::mT": [("a.mT", randn(2, 3, 4))],
    "aten::mH": [("a.mH", randn(2, 3, 4)), ("torch.adjoint(a)", randn(2, 3, 4))],
    "aten::matrix_H": [("a.H", X)],
    "aten::narrow": [("a.narrow(1, 1, 2)", X), ("torch.narrow(a, 0, -2, 1)", X)],
    "aten::unfold": [("a.unfold(1, 3, 1)", X), ("a.unfold(0, 2, 1)", X)],
    "aten::unfold_backward": [("torch.ops.aten.unfold_backward(a, [3, 4], 1, 3, 1)", randn(3, 2, 3))],
    "aten::roll": [("torch.roll(a, 1)", X), ("torch.roll(a, [1, -2], [0, 1])", X)],
    "aten::flip": [("torch.flip(a, [0, 1])", X)],
    "aten::rot90": [("torch.rot90(a, 1, [0, 1])", X)],
    "aten::repeat": [("a.repeat([2, 1, 3])", X), ("a.repeat([1, 1])", X)],
    "aten::repeat_interleave.self_int": [("a.repeat_interleave(2, 1)", X), ("torch.repeat_interleave(a, 3)", X)],
    "aten::repeat_interleave.self_Tensor": [("torch.repeat_interleave(a, i, 0)", X)],
    "aten::constant_pad_nd": [
        ("torch.constant_pad_nd(a, [1, 2], 0.5)", X),
        ("torch.constant_pad_nd(a, [1, -1, 0, 2])", X),
    ],
    "aten::pad": [
        ("torch.nn.functional.pad(a, [1, 1])", X),
        ("torch.nn.functional.pad(a, [1, 1], mode='reflect')", X),
        ("torch.nn.functional.pad(a, [1, 2, 0, 1], mode='replicate')", randn(2, 3, 4)),
    ],
    "aten::pixel_shuffle": [("torch.pixel_shuffle(a, 2)", randn(1, 4, 2, 3))],
    "aten::pixel_unshuffle": [("torch.pixel_unshuffle(a, 2)", randn(1, 1, 4, 6))],
    "aten::channel_shuffle": [("torch.channel_shuffle(a, 2)", randn(1, 6, 2, 3))],
    "aten::im2col": [("torch.nn.functional.unfold(a, [2, 2], padding=1)", randn(1, 2, 3, 4))],
    "aten::col2im": [("torch.nn.functional.fold(a, [3, 4], [2, 2])", randn(1, 8, 6))],
    "aten::unsafe_chunk": [("p, q = torch.unsafe_chunk(a, 2, 1); p * q", X)],
    "aten::unsafe_split.Tensor": [("p, q = torch.unsafe_split(a, 2, 1); p * q", X)],
    "aten::unsafe_split_with_sizes": [("p, q = torch.unsafe_split_with_sizes(a, [1, 3], 1); p * q", X)],
    "aten::tensor_split.sections": [("p, q = torch.tensor_split(a, 2, 1); p * q", X)],
    "aten::tensor_split.indices": [("p, q = torch.tensor_split(a, [1], 1); p * q", X)],
    "aten::split.sizes": [("p, q = torch.split(a, [1, 3], 1); p * q", X)],
    "aten::slice_backward": [("torch.ops.aten.slice_backward(a, [5, 4], 0, 1, 4, 1)", X)],
    "aten::select_backward": [("torch.ops.aten.select_backward(a, [5, 4], 0, 1)", Z)],
    "aten::slice_scatter": [("torch.slice_scatter(a, b, 0, 1, 3)", X, randn(2, 4))],
    "aten::select_scatter": [("torch.select_scatter(a, b, 0, 1)", X, Z)],
    "aten::index_select_backward": [("torch.ops.aten.index_select_backward(a, [5, 4], 0, i)", X)],
    "aten::gather_backward": [
        ("torch.ops.aten.gather_backward(a, b.detach(), 0, i.unsqueeze(1), False)", randn(3, 1), Y)
    ],
    "aten::masked_select_backward": [
        ("torch.ops.aten.masked_select_backward(a, b.detach(), m)", randn(int(MASK.sum())), Y)
    ],
    "aten::masked_scatter_backward": [("torch.ops.aten.masked_scatter_backward(a, m, [20])", X)],
    "aten::embedding_backward": [("torch.ops.aten.embedding_backward(a, i, 5, 2, False, False)", X)],
    "aten::value_selecting_reduction_backward": [
        ("torch.ops.aten.value_selecting_reduction_backward(a, 0, i[:2].unsqueeze(1), [3, 1], True)", randn(2, 1)),
        ("torch.ops.aten.value_selecting_reduction_backward(a, 1, i, [3, 4], False)", randn(3)),
    ],
    "aten::einsum": [
        ("torch.einsum('ij,jk->ik', a, b)", X, randn(4, 5)),
        ("torch.einsum('bij, bjk -> bik', a, b)", randn(2, 3, 4), randn(2, 4, 5)),
        ("torch.einsum('bhqd,bhkd->bhqk', a, b)", Q, K),
        ("torch.einsum('ijk->ki', a)", randn(2, 3, 4)),
        ("torch.einsum('ij,kj->i', a, b)", X, randn(5, 4)),
    ],
    "aten::broadcast_tensors": [("p, q = torch.broadcast_tensors(a, b); p * q", X, Z)],
    # Indices.
    "aten::_unsafe_index.Tensor": [("torch.ops.aten._unsafe_index(a, [None, i])", X)],
    "aten::index.Tensor_hacked_twin": [("torch.ops.aten.index(a, [i, i])", X)],
    "aten::_unsafe_index.Tensor_hacked_twin": [("torch.ops.aten._unsafe_index(a, [i])", X)],
    "aten::_unsafe_index_put": [("torch.ops.aten._unsafe_index_put(a, [None, i[:2]], b)", X, randn(3, 2))],
    "aten::index_put.hacked_twin": [("a.index_put([i[:2]], b)", X, randn(2, 4, seed=7))],
    "aten::_unsafe_index_put.hacked_twin": [("torch.ops.aten._unsafe_index_put(a, [i[:2]], b)", X, randn(2, 4))],
    "aten::masked_select": [
        ("torch.masked_select(a, m)", X),
        ("torch.masked_select(a, m)", randn(1)),
        ("torch.masked_select(a, m[0])", X),
    ],
    "aten::masked_scatter": [("a.masked_scatter(m, b)", X, randn(20))],
    "aten::scatter.src": [("a.scatter(0, i[:2].unsqueeze(1).expand([2, 4]), b)", randn(5, 4), randn(2, 4))],
    "aten::scatter.value": [("a.scatter(0, i.unsqueeze(1), 2.0)", X)],
    "aten::scatter_reduce.two": [
        (f"a.scatter_reduce(0, i.unsqueeze(1).expand([3, 4]), b, '{r}', include_self={s})", randn(5, 4), X)
        for r in ("sum", "mean", "amax", "amin")
        for s in (True, False)
    ],
    "aten::take": [("torch.take(a, i)", X)],
    "aten::put": [("torch.ops.aten.put(a, i[:2], b)", X, randn(2)), ("torch.ops.aten.put(a, i, b, True)", X, randn(3))],
    "aten::index_fill.int_Scalar": [("a.index_fill(0, i, 2.0)", X)],
    "aten::index_fill.int_Tensor": [("a.index_fill(0, i, b)", X, randn())],
    "aten::index_copy": [("a.index_copy(0, i[:2], b)", X, randn(2, 4))],
    "aten::embedding_dense_backward": [("torch.ops.aten.embedding_dense_backward(a, i, 5, 2, False)", X)],
    # Reductions.
    "aten::nansum": [("torch.nansum(a, [1])", X), ("torch.nansum(a)", X)],
    "aten::var": [("torch.var(a)", X), ("torch.var(a, False)", X)],
    "aten::var.dim": [("torch.var(a, [1])", X), ("torch.var(a, [0, 2], False, True)", randn(2, 3, 4))],
    "aten::var.correction": [("torch.var(a, [0], correction=2)", X), ("torch.var(a, correction=0)", X)],
    "aten::std": [("torch.std(a)", X)],
    "aten::std.dim": [("torch.std(a, [1])", X)],
    "aten::std.correction": [("torch.std(a, [0], correction=0, keepdim=True)", X)],
    "aten::var_mean": [
        ("v, n = torch.var_mean(a); v * n", X),
        ("v, n = torch.var_mean(a); n * 3", X),
        ("v, n = torch.var_mean(a); n * 3", randn(1)),
    ],
    "aten::var_mean.dim": [
        ("v, n = torch.var_mean(a, [1]); v * n", X),
        ("v, n = torch.var_mean(a, [1]); v * 3", X),
        ("v, n = torch.var_mean(a, [0]); n * 3", randn(1, 4)),
    ],
    "aten::var_mean.correction": [
        ("v, n = torch.var_mean(a, [0], correction=0); v * n", X),
        ("v, n = torch.var_mean(a, [0], correction=2); n * 3", randn(2, 4)),
    ],
    "aten::std_mean": [
        ("v, n = torch.std_mean(a); v * n", X),
        ("v, n = torch.std_mean(a); v * 3", X),
        ("v, n = torch.std_mean(a); n * 3", randn(1)),
    ],
    "aten::std_mean.dim": [
        ("v, n = torch.std_mean(a, [1]); v * n", X),
        ("v, n = torch.std_mean(a, [0]); n * 3", randn(1, 4)),
    ],
    "aten::std_mean.correction": [
        ("v, n = torch.std_mean(a, [0], correction=0); v * n", X),
        ("v, n = torch.std_mean(a, [0], correction=2, keepdim=True); n * 3", randn(2, 4)),
    ],
    "aten::max": [("torch.max(a)", X), ("torch.max(torch.cat([a, a]))", X)],
    "aten::min": [("torch.min(a)", X)],
    "aten::median": [("torch.median(a)", X)],
    "aten::nanmedian": [("torch.nanmedian(a)", X)],
    "aten::amax": [("torch.amax(a)", X), ("torch.amax(a, [1])", X), ("torch.amax(torch.cat([a, a]), [0], True)", X)],
    "aten::amin": [("torch.amin(a, [0, -1])", randn(2, 3, 4))],
    "aten::max.dim": [("v, n = torch.max(a, 1); v", X), ("v, n = torch.max(a, 0, True); v", X)],
    "aten::min.dim": [("v, n = torch.min(a, 1); v", X)],
    "aten::median.dim": [("v, n = torch.median(a, 1); v", X)],
    "aten::nanmedian.dim": [("v, n = torch.nanmedian(a, 1); v", X)],
    "aten::kthvalue": [("v, n = torch.kthvalue(a, 2, 1); v", X)],
    "aten::mode": [("v, n = torch.mode(a, 1); v", X)],
    "aten::sort": [("v, n = torch.sort(a, 1); v", X), ("v, n = torch.sort(a, 0, True); v", X)],
    "aten::sort.stable": [("v, n = torch.sort(a, stable=True, dim=1); v", X)],
    "aten::topk": [("v, n = torch.topk(a, 2, 1); v", X)],
    "aten::cummax": [("v, n = torch.cummax(a, 1); v", X)],
    "aten::cummin": [("v, n = torch.cummin(a, 1); v", X)],
    "aten::logsumexp": [("torch.logsumexp(a, [1])", X), ("torch.logsumexp(a, [0, 1], True)", X)],
    "aten::cumsum": [("torch.cumsum(a, 1)", X), ("torch.cumsum(a, 0, dtype=torch.float64)", X)],
    "aten::logcumsumexp": [("torch.logcumsumexp(a, 1)", X)],
    "aten::cumprod": [("torch.cumprod(a, 1)", X), ("torch.cumprod(a, 1)", X * (X > -0.5))],
    "aten::prod": [("torch.prod(a)", X), ("torch.prod(a)", Z * torch.tensor([1.0, 0.0, 1.0, 1.0]))],
    "aten::prod.dim_int": [("torch.prod(a, 1)", X), ("torch.prod(a, 0, True)", X * (X > -0.5))],
    # Layers.
    "aten::_batch_norm_impl_index": [
        ("torch.nn.functional.batch_norm(a, None, None, b, c, training=True)", X, Z, randn(4, seed=6)),
        ("torch.nn.functional.batch_norm(a, d, e, b, c)", X, Z, randn(4, seed=6), plain(randn(4)), plain(P[0])),
        (
            "torch.nn.functional.batch_norm(a, d, e, b, None, True)",
            randn(2, 3, 4),
            randn(3),
            None,
            plain(randn(3)),
            plain(P[:, 0]),
        ),
        ("torch.nn.functional.instance_norm(a, weight=b, bias=c)", randn(2, 3, 4), randn(3), randn(3, seed=8)),
    ],
    "aten::native_batch_norm": [
        ("torch.native_batch_norm(a, b, c, None, None, True, 0.1, 1e-5)[0]", X, Z, randn(4, seed=6))
    ],
    "aten::native_group_norm": [
        ("torch.nn.functional.group_norm(a, 2, b, c)", randn(2, 4, 3), randn(4), randn(4, seed=5)),
        ("torch.nn.functional.group_norm(a, 2)", randn(2, 4, 3, 2)),
    ],
    "cresset::mm": [],  # the gradient of aten::mm, whose second and third derivatives go through it
    "cresset::apart_from": [],  # functional graphs have it, and nothing else makes it: test_functional_graphs.py
    "cresset::attention": [
        ("torch.nn.functional.scaled_dot_product_attention(a, b, c)", Q, K, V),
        ("torch.nn.functional.scaled_dot_product_attention(a, b, c, is_causal=True, scale=0.3)", Q, K, V),
        ("torch.nn.functional.scaled_dot_product_attention(a, b, c, attn_mask=d)", Q, K, V, plain(randn(3, 4))),
        ("torch.nn.functional.scaled_dot_product_attention(a, b, c, attn_mask=m)", Q, K, V),
    ],
    "aten::convolution": [
        ("torch.convolution(a, b, None, [1], [1], [1], False, [0], 1)", randn(2, 3, 6), randn(4, 3, 3)),
        ("torch.convolution(a, b, None, [2], [1], [1], True, [1], 1)", randn(2, 4, 6), randn(4, 3, 3)),
    ],
    "aten::conv1d": [
        ("torch.conv1d(a, b, c)", randn(2, 3, 6), randn(4, 3, 3), randn(4)),
        ("torch.conv1d(a, b, c, stride=2, padding=1)", randn(3, 6), randn(4, 3, 3), randn(4)),
        ("torch.conv1d(a, b, dilation=2, groups=2)", randn(2, 4, 6), randn(4, 2, 2)),
    ],
    "aten::conv2d": [
        ("torch.conv2d(a, b, c, padding=1)", randn(1, 2, 4, 5), randn(3, 2, 3, 3), randn(3)),
        ("torch.conv2d(a, b, c)", randn(2, 4, 5), randn(3, 2, 3, 3), randn(3)),
        ("torch.conv2d(a, b)", randn(1, 2, 4, 5), randn(3, 2, 3, 3)),
    ],
    "aten::conv3d": [("torch.conv3d(a, b, c)", randn(1, 2, 3, 3, 4), randn(2, 2, 2, 2, 2), randn(2))],
    "aten::conv1d.padding": [
        ("torch.conv1d(a, b, c, padding='same')", randn(2, 3, 6), randn(4, 3, 3), randn(4)),
        ("torch.conv1d(a, b, padding='same', dilation=3)", randn(3, 6), randn(4, 3, 2)),
        ("torch.conv1d(a, b, c, stride=2, padding='valid')", randn(2, 3, 6), randn(4, 3, 3), randn(4)),
    ],
    "aten::conv2d.padding": [
        ("torch.conv2d(a, b, c, padding='same')", randn(1, 2, 4, 5), randn(3, 2, 3, 2), randn(3)),
        ("torch.conv2d(a, b, padding='same', groups=2)", randn(1, 2, 4, 5), randn(2, 1, 3, 3)),
    ],
    "aten::conv3d.padding": [
        ("torch.conv3d(a, b, c, padding='same')", randn(1, 2, 3, 3, 4), randn(2, 2, 2, 1, 3), randn(2))
    ],
    "aten::conv_transpose1d": [("torch.conv_transpose1d(a, b, c, stride=2)", randn(2, 3, 4), randn(3, 2, 3), randn(2))],
    "aten::conv_transpose2d.input": [
        ("torch.conv_transpose2d(a, b, c, 2, 1, 1)", randn(1, 3, 3, 4), randn(3, 2, 3, 3), randn(2)),
    ],
    "aten::conv_transpose3d.input": [("torch.conv_transpose3d(a, b)", randn(1, 2, 2, 2, 2), randn(2, 2, 2, 2, 2))],
    "aten::max_pool1d_with_indices": [
        ("torch.nn.functional.max_pool1d(a, 2)", randn(2, 3, 6)),
        ("torch.nn.functional.max_pool1d(a, 3, 1, 1)", randn(3, 6)),
    ],
    "aten::max_pool2d_with_indices": [("torch.nn.functional.max_pool2d(a, 2, 1)", randn(2, 3, 4, 5))],
    "aten::max_pool3d_with_indices": [("torch.nn.functional.max_pool3d(a, 2)", randn(1, 2, 4, 4, 4))],
    "aten::avg_pool1d": [
        ("torch.nn.functional.avg_pool1d(a, 2)", randn(2, 3, 6)),
        ("torch.avg_pool1d(a, 3, 1, 1)", randn(3, 6)),
    ],
    "aten::avg_pool2d": [("torch.nn.functional.avg_pool2d(a, 2, 1)", randn(2, 3, 4, 5))],
    "aten::avg_pool3d": [("torch.nn.functional.avg_pool3d(a, 2)", randn(1, 2, 4, 4, 4))],
    "aten::adaptive_avg_pool1d": [
        ("torch.adaptive_avg_pool1d(a, 3)", randn(2, 3, 7)),
        ("torch.adaptive_avg_pool1d(a, 1)", randn(2, 3, 7)),
    ],
    "aten::adaptive_avg_pool2d": [
        ("torch.nn.functional.adaptive_avg_pool2d(a, [2, 3])", randn(2, 3, 4, 5)),
        ("torch.nn.functional.adaptive_avg_pool2d(a, [1, 1])", randn(2, 3, 4, 5)),
    ],
    "aten::adaptive_avg_pool3d": [("torch.nn.functional.adaptive_avg_pool3d(a, [2, 3, 1])", randn(1, 2, 4, 5, 2))],
    "aten::_adaptive_avg_pool2d": [("torch.ops.aten._adaptive_avg_pool2d(a, [2, 3])", randn(2, 3, 4, 5))],
    "aten::_adaptive_avg_pool3d": [("torch.ops.aten._adaptive_avg_pool3d(a, [2, 3, 1])", randn(1, 2, 4, 5, 2))],
    "aten::adaptive_max_pool1d": [("torch.adaptive_max_pool1d(a, 3)[0]", randn(2, 3, 7))],
    "aten::adaptive_max_pool2d": [("torch.ops.aten.adaptive_max_pool2d(a, [2, 3])[0]", randn(2, 3, 4, 5))],
    "aten::adaptive_max_pool3d": [("torch.ops.aten.adaptive_max_pool3d(a, [2, 3, 1])[0]", randn(1, 2, 4, 5, 2))],
    "aten::grid_sampler_2d": [
        ("torch.nn.functional.grid_sample(a, b, 'bicubic')", randn(1, 2, 4, 5), randn(1, 3, 3, 2) / 3),
        ("torch.grid_sampler_2d(a, b, 0, 0, False)", randn(1, 2, 4, 5), randn(1, 3, 3, 2) / 3),
    ],
    "aten::grid_sampler_3d": [
        ("torch.nn.functional.grid_sample(a, b, align_corners=False)", randn(1, 2, 3, 4, 5), randn(1, 2, 3, 3, 3) / 3)
    ],
    # Losses.
    "aten::smooth_l1_loss": [
        *[(f"torch.ops.aten.smooth_l1_loss(a, b, {r}, 0.7)", X, Y) for r in range(3)],
        ("torch.ops.aten.smooth_l1_loss(torch.softmax(a, 1), b)", randn(1, 4), Y),
        ("torch.ops.aten.smooth_l1_loss(torch.softmax(a, 1), b)", X, Z),
    ],
    "aten::huber_loss": [
        *[(f"torch.ops.aten.huber_loss(a, b, {r}, 0.7)", X, Y) for r in range(3)],
        ("torch.ops.aten.huber_loss(torch.softmax(a, 1), b)", randn(1, 4), Y),
        ("torch.ops.aten.huber_loss(torch.softmax(a, 1), b)", X, Z),
    ],
    "aten::soft_margin_loss": [("torch.ops.aten.soft_margin_loss(a, d)", X, None, None, plain(Y.sign()))],
    "aten::binary_cross_entropy": [
        ("torch.nn.functional.binary_cross_entropy(torch.sigmoid(a), torch.sigmoid(b))", X, Y),
        ("torch.nn.functional.binary_cross_entropy(torch.sigmoid(a), torch.sigmoid(b), reduction='none')", X, Y),
    ],
    "aten::binary_cross_entropy_with_logits": [
        ("torch.nn.functional.binary_cross_entropy_with_logits(a, torch.sigmoid(b))", X, Y),
        (
            "torch.nn.functional.binary_cross_entropy_with_logits(a, b, pos_weight=d, reduction='sum')",
            X,
            Y,
            None,
            plain(P[0]),
        ),
    ],
    "aten::nll_loss_forward": [("torch.ops.aten.nll_loss_forward(torch.log_softmax(a, 1), i, None, 1, -100)[0]", X)],
    "aten::nll_loss2d_forward": [
        ("torch.ops.aten.nll_loss2d_forward(a, i.view([1, 1, 3]), None, 1, -100)[0]", randn(1, 4, 1, 3))
    ],
    "aten::nll_loss_nd": [("torch.nn.functional.nll_loss(a, i.view([1, 3]), reduction='none')", randn(1, 4, 3))],
    "aten::_softmax_backward_data": [("torch._softmax_backward_data(a, b.softmax(1), 1, b.dtype)", X, Y)],
    "aten::_log_softmax_backward_data": [("torch._log_softmax_backward_data(a, b, 1, b.dtype)", X, Y)],
    "aten::mse_loss_backward": [
        ("torch.ops.aten.mse_loss_backward(a, b, c, 1)", randn(), X, Y),
        ("torch.ops.aten.mse_loss_backward(a, b, c, 2)", randn(), X, Y),
        ("torch.ops.aten.mse_loss_backward(a, b, c, 0)", X, X, Y),
    ],
    "aten::smooth_l1_loss_backward": [
        ("torch.ops.aten.smooth_l1_loss_backward(a, b, c, 1, 0.7)", randn(), X, Y),
        ("torch.ops.aten.smooth_l1_loss_backward(a, b, c, 0, 0.7)", X, X, Y),
    ],
    "aten::huber_loss_backward": [
        ("torch.ops.aten.huber_loss_backward(a, b, c, 1, 0.7)", randn(), X, Y),
        ("torch.ops.aten.huber_loss_backward(a, b, c, 0, 0.7)", X, X, Y),
    ],
    "aten::avg_pool2d_backward": [
        (
            "torch.ops.aten.avg_pool2d_backward(a, b, [2, 2], [1, 1], [0, 0], False, True, None)",
            randn(2, 3, 3, 4),
            randn(2, 3, 4, 5),
        )
    ],
    "aten::avg_pool3d_backward": [
        (
            "torch.ops.aten.avg_pool3d_backward(a, b, [2], [2], [0], False, True, None)",
            randn(1, 2, 2, 2, 2),
            randn(1, 2, 4, 4, 4),
        )
    ],
    "aten::_adaptive_avg_pool2d_backward": [
        ("torch.ops.aten._adaptive_avg_pool2d_backward(a, b)", randn(2, 3, 2, 2), randn(2, 3, 4, 5))
    ],
    "aten::_adaptive_avg_pool3d_backward": [
        ("torch.ops.aten._adaptive_avg_pool3d_backward(a, b)", randn(1, 2, 2, 2, 2), randn(1, 2, 4, 4, 4))
    ],
    "aten::max_pool2d_with_indices_backward": [
        (
            "torch.ops.aten.max_pool2d_with_indices_backward(a, b, [2, 2], [1, 1], [0, 0], [1, 1], False, "
            "torch.ops.aten.max_pool2d_with_indices(b, [2, 2], [1, 1])[1])",
            randn(2, 3, 3, 4),
            randn(2, 3, 4, 5),
        )
    ],
    "aten::max_pool3d_with_indices_backward": [
        (
            "torch.ops.aten.max_pool3d_with_indices_backward(a, b, [2], [2], [0], [1], False, "
            "torch.ops.aten.max_pool3d_with_indices(b, [2], [2])[1])",
            randn(1, 2, 2, 2, 2),
            randn(1, 2, 4, 4, 4),
        )
    ],
    "aten::nll_loss_backward": [
        ("torch.ops.aten.nll_loss_backward(a, b, i, None, 2, -100, d)", randn(), X, None, plain(randn()))
    ],
    "aten::nll_loss2d_backward": [
        (
            "torch.ops.aten.nll_loss2d_backward(a, b, i.view([1, 1, 3]), None, 2, -100, d)",
            randn(),
            randn(1, 4, 1, 3),
            None,
            plain(randn()),
        )
    ],
    # Second derivatives of layers.
    "aten::native_layer_norm_backward": [
        (
            f"{LAYER}; p, q, s = torch.ops.aten.native_layer_norm_backward(a, b, [4], u, v, c, d, [True, True, True]); "
            "p * q + s",
            X,
            Y,
            Z,
            randn(4, seed=6),
        ),
        (
            "t, u, v = torch.native_layer_norm(b, [3, 4], None, None, 1e-5); p, q, s = "
            "torch.ops.aten.native_layer_norm_backward(a, b, [3, 4], u, v, None, None, [True, False, False]); p",
            randn(2, 3, 4),
            randn(2, 3, 4, seed=1),
        ),
        *(
            (
                f"{LAYER}; p, q, s = torch.ops.aten.native_layer_norm_backward(a, b, [4], u, v, c, d, {mask}); "
                f"{result} * a",
                X,
                Y,
                Z,
                randn(4, seed=6),
            )
            for mask, result in (([False, True, True], "q * s"), ([False, False, True], "s"))
        ),
    ],
    "aten::native_batch_norm_backward": [
        (
            f"{BATCH}; p, q, s = torch.ops.aten.native_batch_norm_backward("
            "a, b, c, None, None, u, v, True, 1e-5, [True, True, True]); p * q.unsqueeze(1) + s.unsqueeze(1)",
            randn(2, 3, 4),
            randn(2, 3, 4, seed=1),
            randn(3),
        ),
        (
            "p, q, s = torch.ops.aten.native_batch_norm_backward("
            "a, b, c, d, e, None, None, False, 1e-5, [True, True, True]); p * q + s",
            X,
            Y,
            Z,
            plain(randn(4)),
            plain(P[0]),
        ),
        (
            f"{BATCH.replace(' c,', ' None,')}; p, q, s = torch.ops.aten.native_batch_norm_backward("
            "a, b, None, None, None, u, v, True, 1e-5, [True, False, False]); p",
            randn(2, 3, 4),
            randn(2, 3, 4, seed=1),
        ),
        (
            f"{BATCH}; p, q, s = torch.ops.aten.native_batch_norm_backward("
            "a, b, c, None, None, u, v, True, 1e-5, [False, True, True]); a * (q * s).unsqueeze(1)",
            randn(2, 3, 4),
            randn(2, 3, 4, seed=1),
            randn(3),
        ),
    ],
    "aten::_batch_norm_impl_index_backward": [
        (
            f"{BATCH}; p, q, s = torch.ops.aten._batch_norm_impl_index_backward("
            "0, b, a, c, None, None, u, v, True, 1e-5, [True, True, True], i); p * q.unsqueeze(1) + s.unsqueeze(1)",
            randn(2, 3, 4),
            randn(2, 3, 4, seed=1),
            randn(3),
        ),
    ],
    "aten::convolution_backward": [
        (
            "p, q, s = torch.ops.aten.convolution_backward("
            "a, b, c, [4], [1], [1], [1], False, [0], 1, [True, True, True]); p.sum() * q.sum([1, 2]) + s",
            randn(2, 4, 6),
            randn(2, 3, 6),
            randn(4, 3, 3),
        ),
        (
            "p, q, s = torch.ops.aten.convolution_backward("
            "a, b, c, None, [2], [1], [1], True, [0], 2, [False, True, False]); q * c",
            randn(1, 4, 11),
            randn(1, 4, 6),
            randn(4, 2, 3),
        ),
        (
            "p, q, s = torch.ops.aten.convolution_backward("
            "a, b, c, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, False, False]); p * b",
            randn(1, 3, 2, 3),
            randn(1, 2, 4, 5),
            randn(3, 2, 3, 3),
        ),
    ],
}

#: Calls of composite operators that are decomposed into operators with rules.
COMPOSITES = [
    ("torch.cosine_similarity(a, b)", X, Y),
    ("torch.cosine_similarity(a, b, -1)", randn(2, 3, 4), Z),
    ("torch.cosine_similarity(a, b, 0)", Z, randn(4, seed=9)),
    ("torch.cosine_similarity(a, b, 1, 2.5)", X, Y),  # lengths below eps
    ("torch.cosine_similarity(a, b)", X, plain(Y)),
    ("torch.ops.aten.nll_loss(torch.log_softmax(a, 1), i)", X),
    ("torch.ops.aten.nll_loss(a, i, d)", X, None, None, plain(P[0])),
    ("torch.ops.aten.nll_loss2d(a, i.view([1, 1, 3]))", randn(1, 4, 1, 3)),
    ("torch.nn.functional.cross_entropy(a, i)", X),
    ("torch.nn.functional.cross_entropy(a, i, d, reduction='sum')", X, None, None, plain(P[0])),
    ("torch.nn.functional.cross_entropy(a, i[0])", Z),
    ("torch.nn.functional.cross_entropy(a, i.view([1, 1, 3]))", randn(1, 4, 1, 3)),
    ("torch.matmul(a, b)", X, randn(2, 4, 5)),
    ("torch.matmul(a, b)", Z, randn(2, 4, 5)),
    ("torch.matmul(a, b)", randn(2, 3, 4), randn(4, 5)),
    ("torch.matmul(a.transpose(0, 1), b)", randn(3, 2, 4), Z),
    ("torch.linalg.matmul(a, b)", X, randn(4, 5)),
    ("torch.nn.functional.dropout(a, 0.3)", X),
    ("torch.nn.functional.dropout(a.t(), 0.3)", X),
    ("torch.nn.functional.dropout2d(a, 0.3)", randn(2, 3, 4, 5)),
    ("torch.inner(a, b)", Z, randn(4, seed=3)),
    ("torch.outer(a, b)", randn(3), Z),
    ("torch.outer(a, a).mean(-1) * a", Z),
    ("torch.ger(a, b)", randn(3), Z),
    ("torch.vdot(a, b)", Z, randn(4, seed=3)),
    ("torch.selu(a)", X),
    ("torch.nn.functional.relu6(a * 9)", X),
    ("a.type_as(b) * b", X, Y),
    ("torch.float_power(a, 2)", P),
    ("torch.float_power(a, b)", P, X),
    ("torch.multiply(a, b) - torch.divide(a, b) + torch.true_divide(b, a)", P, P + 1),
    ("torch.subtract(a, b, alpha=2)", X, Z),
    ("torch.arctan2(a, b)", X, Z),
    ("torch.absolute(a) + torch.negative(a) * torch.fix(a)", X),
    ("torch.arccos(a) + torch.arcsin(a) + torch.arctan(a) + torch.arctanh(a) + torch.arcsinh(a)", X / 8),
    ("torch.arccosh(a)", P + 2),
    ("torch.special.expit(a) + torch.special.erf(a) * torch.special.erfc(a) + torch.special.exp2(a)", X),
    ("torch.special.expm1(a) + torch.special.log1p(a) * torch.special.sinc(a) + torch.special.i0(a)", P),
    ("torch.special.gammaln(a) + torch.special.digamma(a) * torch.special.psi(a)", P),
    ("torch.special.erfinv(a)", X / 8),
    ("torch.clip(a, -0.1, 0.1)", X),
    ("torch.linalg.diagonal(a)", X),
    ("torch.cross(a, b, dim=1)", randn(2, 3), randn(2, 3, seed=3)),
    ("torch.linalg.norm(a)", X),
    ("a.view_as(b) + a.reshape_as(b) * b", X, randn(2, 6)),
    ("a.expand_as(b) * b", Z, X),
    ("torch.moveaxis(a, 0, 1)", X),
    ("torch.fliplr(a) + torch.flipud(a)", X),
    ("torch.concat([a, b], 1)", X, Y),
    ("torch.hstack([a, b]) * torch.vstack([a, b]).view([3, 8])", X, Y),
    ("torch.max(a, b) + torch.min(a, b)", X, Z),
    ("torch.special.logsumexp(a, [1])", X),
    ("torch.special.softmax(a, 1) + torch.special.log_softmax(a, 1)", X),
    ("torch.rms_norm(a, [4], b)", X, Z),
    ("torch.rms_norm(a, [3, 4], None, 1e-5)", randn(2, 3, 4)),
    ("torch.nn.functional.l1_loss(a, b)", X, Y),
    ("torch.nn.functional.l1_loss(a, b, reduction='none')", X, Y),
    ("torch.nn.functional.kl_div(a, torch.sigmoid(b), reduction='batchmean')", X, Y),
    ("torch.nn.functional.kl_div(a, b, log_target=True, reduction='sum')", X, Y),
    ("torch.margin_ranking_loss(a, b, c, 0.5, 1)", X, Y, Z),
    *(
        (f"torch.nn.functional.cross_entropy(a, i, {weight}, reduction='{r}', label_smoothing=0.2, ignore_index=2)", X)
        + more
        for r in ("mean", "sum", "none")
        for weight, more in (("None", ()), ("d", (None, None, plain(P[0]))))
    ),
    *(
        (f"torch.nn.functional.cross_entropy(a, b, {weight}, reduction='{r}', label_smoothing={s})", randn(5, 4)) + more
        for r in ("mean", "sum", "none")
        for s, weight, more in (
            (0.0, "None", (randn(5, 4, seed=1),)),
            (0.1, "d", (randn(5, 4, seed=1), None, plain(P[0]))),
        )
    ),
    ("torch.linalg.norm(a, 3, 1)", X),
    ("torch.linalg.norm(a, 1)", Z),
    ("torch.linalg.matrix_norm(a)", X),
    ("torch.linalg.vecdot(a, b)", X, Y),
    ("torch.linalg.vecdot(a, b)", Z, randn(4, seed=3)),
    ("torch.pairwise_distance(a, b)", X, Y),
    ("torch.pairwise_distance(a, b, 1.0, keepdim=True)", X, Z),
    ("torch.triplet_margin_loss(a, b, c, swap=True, reduction=1)", X, Y, randn(3, 4, seed=8)),
    ("torch.cosine_embedding_loss(a, b, d, 0.1, 1)", X, Y, None, plain(randn(3).sign())),
    ("torch.hinge_embedding_loss(a, d, 1.0, 2)", X, None, None, plain(Y.sign())),
    ("torch.poisson_nll_loss(a, b, True, True, 1e-8, 1)", X, P * 2),
    ("torch.poisson_nll_loss(a, b, False, False, 1e-8, 2)", P, P * 2),
    ("torch.nn.functional.grid_sample(a, b, align_corners=False)", randn(1, 2, 4, 5), randn(1, 3, 3, 2) / 3),
    ("torch.special.ndtr(a)", X),
    ("torch.msort(a)", X),
    ("torch.nanmean(a, [1])", X),
    ("torch.tile(a, [2, 1, 3])", X),
    ("torch.column_stack([a, b]) * torch.dstack([a.unsqueeze(2), b.unsqueeze(2)]).view([3, 8])", X, Y),
    ("torch.diagflat(a, 1)", X),
]

CELL = randn(5, 7), randn(5, 9), randn(9, 7), randn(9, 9), randn(9)
GRU_CELL = randn(5, 7), randn(5, 9), randn(27, 7), randn(27, 9), randn(27)
COMPOSITES += [
    ("torch.rnn_tanh_cell(a, b, c, d, e, e)", *CELL),
    ("torch.rnn_relu_cell(a, b, c, d)", *CELL[:-1]),
    ("torch.gru_cell(a, b, c, d, e, e)", *GRU_CELL),
    ("torch.gru_cell(a, b, c, d)", *GRU_CELL[:-1]),
]

for n, sizes in ((1, [6]), (2, [4, 5]), (3, [3, 4, 3])):
    pad = [1, 2] + [1, 1] * (n - 1)
    bigger = [size + low + high for size, low, high in zip(reversed(sizes), pad[::2], pad[1::2], strict=True)][::-1]
    image, scaled = randn(1, 2, *sizes), randn(1, 2, *(2 * size for size in sizes))
    scales = ", ".join(["2.0"] * n)
    given = f"{[1, 2, *sizes]}"
    doubled = f"{[2 * size for size in sizes]}"
    for kind in ("reflection", "replication"):
        CALLS[f"aten::{kind}_pad{n}d"] = [(f"torch.ops.aten.{kind}_pad{n}d(a, {pad})", image)]
        CALLS[f"aten::{kind}_pad{n}d_backward"] = [
            (f"torch.ops.aten.{kind}_pad{n}d_backward(a, b, {pad})", randn(1, 2, *bigger), image)
        ]
    for kind in ("upsample_nearest", "_upsample_nearest_exact"):
        CALLS[f"aten::{kind}{n}d"] = [(f"torch.ops.aten.{kind}{n}d(a, {doubled})", image)]
        CALLS[f"aten::{kind}{n}d.vec"] = [(f"torch.ops.aten.{kind}{n}d(a, None, [{scales}])", image)]
        CALLS[f"aten::{kind}{n}d_backward"] = [(f"torch.ops.aten.{kind}{n}d_backward(a, {doubled}, {given})", scaled)]
    for kind in {1: ["linear1d"], 2: ["bilinear2d", "bicubic2d"], 3: ["trilinear3d"]}[n]:
        name = f"upsample_{kind}"
        CALLS[f"aten::{name}"] = [
            (f"torch.ops.aten.{name}(a, {doubled}, {corners})", image) for corners in (True, False)
        ]
        CALLS[f"aten::{name}.vec"] = [(f"torch.ops.aten.{name}(a, None, False, [{scales}])", image)]
        CALLS[f"aten::{name}_backward"] = [(f"torch.ops.aten.{name}_backward(a, {doubled}, {given}, False)", scaled)]
        if n == 2:
            CALLS[f"aten::_{name}_aa"] = [(f"torch.ops.aten._{name}_aa(a, {doubled}, False)", image)]
            CALLS[f"aten::_{name}_aa.vec"] = [(f"torch.ops.aten._{name}_aa(a, None, False, [{scales}])", image)]

UNARY_OF_POSITIVE = {
    "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "reciprocal", "lgamma", "digamma", "special_entr",
}  # fmt: skip
UNARY_OF_SMALL = {"asin", "acos", "atanh", "erfinv"}
for name in OPERATORS:
    if name not in CALLS and "." not in name:
        short = name.removeprefix("aten::")
        argument = (
            P if short in UNARY_OF_POSITIVE else P + 2 if short == "acosh" else X / 8 if short in UNARY_OF_SMALL else X
        )
        argument = P / 4 if short == "special_ndtri" else argument
        CALLS[name] = [(f"torch.ops.aten.{short}(a)", argument)]
