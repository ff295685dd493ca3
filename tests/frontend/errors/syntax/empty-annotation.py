# run: tree
def f(a: ""):  # error: this annotation is empty
  pass
