# run: tree
class M:
  def f(self, x):
    # type: (int) -> int
    return x
# ---- expect
(class
  (ident M)
  (list)
  (list
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
            (option
              (variable (ident int)))
            (option)
            (False)))
        (option (variable (ident int))))
      (list
        (return (variable (ident x))))
      (list)))
  (list))
