# run: tree
return
return 1, 2
raise X("m")
raise X from None
assert a
assert a, "m"
del a, b[0]
del (a, [b])
pass; x; y = 1;
# ---- expect
(return (None))
(return
  (tuple literal
    (list (const 1) (const 2))))
(raise
  (apply
    (variable (ident X))
    (list (string_literal "m"))
    (list)))
(raise (variable (ident X)))
(assert (variable (ident a)) (option))
(assert
  (variable (ident a))
  (option (string_literal "m")))
(delete
  (list
    (variable (ident a))
    (subscript
      (variable (ident b))
      (list (const 0)))))
(delete
  (list
    (variable (ident a))
    (variable (ident b))))
(pass)
(variable (ident x))
(assign
  (list (variable (ident y)))
  (option (const 1))
  (option))
