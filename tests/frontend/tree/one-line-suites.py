# run: tree
if x: return y
def f(): return 1; pass
while x: y; z
# ---- expect
(if
  (variable (ident x))
  (list (return (variable (ident y))))
  (list))
(def
  (ident f)
  (decl (list) (option))
  (list (return (const 1)) (pass))
  (list))
(while
  (variable (ident x))
  (list
    (expression statement
      (variable (ident y)))
    (expression statement
      (variable (ident z)))))
