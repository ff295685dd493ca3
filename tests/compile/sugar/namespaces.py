# run: compile
def f(x: Tensor):
    a = torch.linalg.norm(x)
    b = torch.fft.fft(x)
    c = torch.special.expit(x)
    d = torch.nn.functional.gelu(x)
    e = torch.ops.aten.relu(x)
    g = ops.prim.device(x)
    h = torch._C._nn.gelu(x)
    return a, b, c, d, e, g, h
# ---- expect
