# run: tree
# The operands stand in the order of the source.
z.sigmoid() - (x + y)
# ---- expect
(-
  (apply
    (.
      (variable (ident z))
      (ident sigmoid))
    (list)
    (list))
  (+
    (variable (ident x))
    (variable (ident y))))
