# run: compile
def f(x: int):
  raise "asd" # error: exceptions must derive from BaseException
