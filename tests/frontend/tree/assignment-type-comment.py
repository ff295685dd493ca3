# run: tree
x = []  # type: List[int]
# type: this is prose above a statement
y = 1
# ---- expect
(assign
  (list (variable (ident x)))
  (option (list literal (list)))
  (option
    (subscript
      (variable (ident List))
      (list (variable (ident int))))))
(assign
  (list (variable (ident y)))
  (option (const 1))
  (option))
