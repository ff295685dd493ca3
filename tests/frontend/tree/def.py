# run: tree
def f(self, x: int, y=1, *, z: Tensor, w: float = 2.0) -> Tensor:
  return x
# ---- expect
(def
  (ident f)
  (decl
    (list
      (param
        (ident self)
        (option)
        (option)
        (False))
      (param
        (ident x)
        (option (variable (ident int)))
        (option)
        (False))
      (param
        (ident y)
        (option)
        (option (const 1))
        (False))
      (param
        (ident z)
        (option
          (variable (ident Tensor)))
        (option)
        (True))
      (param
        (ident w)
        (option
          (variable (ident float)))
        (option (const 2.0))
        (True)))
    (option (variable (ident Tensor))))
  (list (return (variable (ident x))))
  (list))
