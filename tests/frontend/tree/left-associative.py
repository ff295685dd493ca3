# run: tree
a - b - c
a / b * c // d % e @ f
a << b >> c
# ---- expect
(-
  (-
    (variable (ident a))
    (variable (ident b)))
  (variable (ident c)))
(@
  (%
    (floordiv
      (*
        (/
          (variable (ident a))
          (variable (ident b)))
        (variable (ident c)))
      (variable (ident d)))
    (variable (ident e)))
  (variable (ident f)))
(rshift
  (lshift
    (variable (ident a))
    (variable (ident b)))
  (variable (ident c)))
