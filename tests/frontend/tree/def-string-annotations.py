# run: tree
def f(x: "List['Foo']", y: Literal["a"]) -> "Tuple[int, str]":
  pass
# ---- expect
(def
  (ident f)
  (decl
    (list
      (param
        (ident x)
        (option
          (subscript
            (variable (ident List))
            (list
              (variable (ident Foo)))))
        (option)
        (False))
      (param
        (ident y)
        (option
          (subscript
            (variable (ident Literal))
            (list (string_literal "a"))))
        (option)
        (False)))
    (option
      (subscript
        (variable (ident Tuple))
        (list
          (variable (ident int))
          (variable (ident str))))))
  (list (pass))
  (list))
