# run: tree
def f(
    x,  # type: int
    y=None,  # type: Optional[Tensor]
    z=1  # type: int
):
  # type: (...) -> int
  pass
# ---- expect
(def
  (ident f)
  (decl
    (list
      (param
        (ident x)
        (option (variable (ident int)))
        (option)
        (False))
      (param
        (ident y)
        (option
          (subscript
            (variable (ident Optional))
            (list
              (variable (ident Tensor)))))
        (option (None))
        (False))
      (param
        (ident z)
        (option (variable (ident int)))
        (option (const 1))
        (False)))
    (option (variable (ident int))))
  (list (pass))
  (list))
