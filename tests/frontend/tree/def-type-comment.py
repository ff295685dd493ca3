# run: tree
def f(x, y=1):  # type: (int, List[Tensor]) -> Tuple[int, str]
  pass
def g(x):
  # type: (int) -> None
  "doc"
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
            (variable (ident List))
            (list
              (variable (ident Tensor)))))
        (option (const 1))
        (False)))
    (option
      (subscript
        (variable (ident Tuple))
        (list
          (variable (ident int))
          (variable (ident str))))))
  (list (pass))
  (list))
(def
  (ident g)
  (decl
    (list
      (param
        (ident x)
        (option (variable (ident int)))
        (option)
        (False)))
    (option (None)))
  (list
    (expression statement
      (string_literal "doc")))
  (list))
