# run: compile
# Methods are operators bound to their receiver; casts are aten::to.
def f(x: Tensor, y: Tensor):
    a = x.add(y, alpha=2).half()
    b = a.view(-1, 2).type(torch.float64)
    return b.max(0).values, x.size(0), torch.Tensor.add(x, y)
# ---- expect
