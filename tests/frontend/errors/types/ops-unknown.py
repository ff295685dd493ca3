# run: compile
def f(x: Tensor):
    return torch.ops.mine.op(x)  # error: there is no operator 'mine::op'; is the library that registers it loaded?
