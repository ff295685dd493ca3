# run: compile
def f(x: int):
    return torch.add(x, [x, (x + 1)]) * (2 + x)
# ---- expect
