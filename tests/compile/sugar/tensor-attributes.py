# run: compile
def f(x: Tensor):
    return x.shape, x.dtype, x.device, x.layout, x.requires_grad, x.ndim, x.T, x.mH, x.is_cuda, x.grad, x.device.type, x.device.index
# ---- expect
