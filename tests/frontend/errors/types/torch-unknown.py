# run: compile
def f(x: Tensor):
    return torch.sofmax(x)  # error: object has no attribute sofmax: 'torch' has no operator or function of that name; did you mean 'softmax'
