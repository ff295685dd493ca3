# run: compile
def f():
    return torch.nn.Linear(2, 2)  # error: modules can't be made while a script runs
