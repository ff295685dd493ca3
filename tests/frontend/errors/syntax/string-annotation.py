# run: tree
def f(a: "List[int"):  # error: expected ] but found the end of the text
  pass
