# run: compile
def f():
    return torch.float32, torch.int64, torch.strided, torch.channels_last, torch.pi, math.inf, torch.device("cpu"), torch.device("cuda", 1), inf, torch.per_tensor_affine
# ---- expect
