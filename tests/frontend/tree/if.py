# run: tree
if a:
  b
elif c:
  d
elif e: f
else:
  g
# ---- expect
(if
  (variable (ident a))
  (list
    (expression statement
      (variable (ident b))))
  (list
    (if
      (variable (ident c))
      (list
        (expression statement
          (variable (ident d))))
      (list
        (if
          (variable (ident e))
          (list
            (expression statement
              (variable (ident f))))
          (list
            (expression statement
              (variable (ident g)))))))))
