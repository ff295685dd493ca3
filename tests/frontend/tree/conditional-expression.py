# run: tree
a if b else c if d else e
(a if b else c) if d else e
# ---- expect
(if expression
  (variable (ident b))
  (variable (ident a))
  (if expression
    (variable (ident d))
    (variable (ident c))
    (variable (ident e))))
(if expression
  (variable (ident d))
  (if expression
    (variable (ident b))
    (variable (ident a))
    (variable (ident c)))
  (variable (ident e)))
