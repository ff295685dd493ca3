# run: compile
def f():
  return -9223372036854775808, --9223372036854775808 # error: the integer 9223372036854775808 is out of range
