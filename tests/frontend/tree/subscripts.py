# run: tree
x[0]
x[i, j]
x[(i, j)]
x[i,]
x[:]
x[a:b:c, ::d, ..., None]
x[()]
# ---- expect
(subscript
  (variable (ident x))
  (list (const 0)))
(subscript
  (variable (ident x))
  (list
    (variable (ident i))
    (variable (ident j))))
(subscript
  (variable (ident x))
  (list
    (tuple literal
      (list
        (variable (ident i))
        (variable (ident j))))))
(subscript
  (variable (ident x))
  (list
    (tuple literal
      (list (variable (ident i))))))
(subscript
  (variable (ident x))
  (list
    (slice (option) (option) (option))))
(subscript
  (variable (ident x))
  (list
    (slice
      (option (variable (ident a)))
      (option (variable (ident b)))
      (option (variable (ident c))))
    (slice
      (option)
      (option)
      (option (variable (ident d))))
    (dots)
    (None)))
(subscript
  (variable (ident x))
  (list (tuple literal (list))))
