# run: tree
with a as b, c:
  pass
with (a as b, c,):
  pass
with (a).b() as c:
  pass
with (a, b):
  pass
# ---- expect
(with
  (list
    (with item
      (variable (ident a))
      (option (variable (ident b))))
    (with item
      (variable (ident c))
      (option)))
  (list (pass)))
(with
  (list
    (with item
      (variable (ident a))
      (option (variable (ident b))))
    (with item
      (variable (ident c))
      (option)))
  (list (pass)))
(with
  (list
    (with item
      (apply
        (.
          (variable (ident a))
          (ident b))
        (list)
        (list))
      (option (variable (ident c)))))
  (list (pass)))
(with
  (list
    (with item
      (variable (ident a))
      (option))
    (with item
      (variable (ident b))
      (option)))
  (list (pass)))
