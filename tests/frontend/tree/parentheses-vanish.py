# run: tree
((a))
(a) + (b)
# ---- expect
(variable (ident a))
(+
  (variable (ident a))
  (variable (ident b)))
