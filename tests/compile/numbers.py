# run: compile
def f():
  return 1, -1, 1.5, -0.25, 3j, 0x1f, 1_000, -9223372036854775808
# ---- expect
