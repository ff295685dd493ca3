# run: tree
f(short)
f(a_rather_long_name, another_rather_long_name)
# ---- expect
(apply
  (variable (ident f))
  (list (variable (ident short)))
  (list))
(apply
  (variable (ident f))
  (list
    (variable
      (ident a_rather_long_name))
    (variable
      (ident another_rather_long_name)))
  (list))
