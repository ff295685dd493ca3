# run: compile
def f():
    return torch.device("gpu9000")  # error: Invalid device string: 'gpu9000'
