# run: tree
while a:
  break
for x in y:
  continue
for i, (j, *k) in a, b: pass
# ---- expect
(while
  (variable (ident a))
  (list (break)))
(for
  (variable (ident x))
  (variable (ident y))
  (list (continue)))
(for
  (tuple literal
    (list
      (variable (ident i))
      (tuple literal
        (list
          (variable (ident j))
          (starred
            (variable (ident k)))))))
  (tuple literal
    (list
      (variable (ident a))
      (variable (ident b))))
  (list (pass)))
