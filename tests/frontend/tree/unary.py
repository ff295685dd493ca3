# run: tree
not not a
- - a
~a
+1
-1
-9223372036854775808
not a in b
# ---- expect
(not (not (variable (ident a))))
(unary minus
  (unary minus (variable (ident a))))
(~ (variable (ident a)))
(const 1)
(unary minus (const 1))
(const -9223372036854775808)
(not
  (in
    (variable (ident a))
    (variable (ident b))))
