# run: tree
x: int
x: int = 1
self.x : Optional[Tensor] = None
x: "List[Foo]" = []
x: Tuple[int,] = y, z
# ---- expect
(assign
  (list (variable (ident x)))
  (option)
  (option (variable (ident int))))
(assign
  (list (variable (ident x)))
  (option (const 1))
  (option (variable (ident int))))
(assign
  (list
    (.
      (variable (ident self))
      (ident x)))
  (option (None))
  (option
    (subscript
      (variable (ident Optional))
      (list (variable (ident Tensor))))))
(assign
  (list (variable (ident x)))
  (option (list literal (list)))
  (option
    (subscript
      (variable (ident List))
      (list (variable (ident Foo))))))
(assign
  (list (variable (ident x)))
  (option
    (tuple literal
      (list
        (variable (ident y))
        (variable (ident z)))))
  (option
    (subscript
      (variable (ident Tuple))
      (list (variable (ident int))))))
