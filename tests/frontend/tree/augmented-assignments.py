# run: tree
x += 1
x.y **= 2
x[0] //= 3, 4
x @= y
# ---- expect
(augmented assign
  (variable (ident x))
  (+)
  (const 1))
(augmented assign
  (. (variable (ident x)) (ident y))
  (pow)
  (const 2))
(augmented assign
  (subscript
    (variable (ident x))
    (list (const 0)))
  (floordiv)
  (tuple literal
    (list (const 3) (const 4))))
(augmented assign
  (variable (ident x))
  (@)
  (variable (ident y)))
