# run: tree
a ** b ** c
-a ** -b
a ** -b ** c
# ---- expect
(pow
  (variable (ident a))
  (pow
    (variable (ident b))
    (variable (ident c))))
(unary minus
  (pow
    (variable (ident a))
    (unary minus (variable (ident b)))))
(pow
  (variable (ident a))
  (unary minus
    (pow
      (variable (ident b))
      (variable (ident c)))))
