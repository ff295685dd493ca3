# run: tree
a < b
a < b <= c != d
a is not b
a not in b
a in b in c
(a < b) < c
# ---- expect
(<
  (variable (ident a))
  (variable (ident b)))
(comparison chain
  (list
    (variable (ident a))
    (variable (ident b))
    (variable (ident c))
    (variable (ident d)))
  (list (<) (le) (ne)))
(is not
  (variable (ident a))
  (variable (ident b)))
(not in
  (variable (ident a))
  (variable (ident b)))
(comparison chain
  (list
    (variable (ident a))
    (variable (ident b))
    (variable (ident c)))
  (list (in) (in)))
(<
  (<
    (variable (ident a))
    (variable (ident b)))
  (variable (ident c)))
