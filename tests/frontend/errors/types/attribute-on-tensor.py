# run: compile
def f(x: Tensor):
    x.grad = x  # error: Tried to set an attribute: grad on a non-class: Tensor
