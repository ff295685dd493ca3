# run: compile
def f(x: Tensor):
    return torch.sofmax(x)  # error: torch has no operator or function 'sofmax'; did you mean 'softmax'
