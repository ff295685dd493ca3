# run: tree
f()
f(a, *b, c=d, e=f,)
(self).forward(x, )
f(a)(b).c[d](e)
# ---- expect
(apply
  (variable (ident f))
  (list)
  (list))
(apply
  (variable (ident f))
  (list
    (variable (ident a))
    (starred (variable (ident b))))
  (list
    (attribute
      (ident c)
      (variable (ident d)))
    (attribute
      (ident e)
      (variable (ident f)))))
(apply
  (.
    (variable (ident self))
    (ident forward))
  (list (variable (ident x)))
  (list))
(apply
  (subscript
    (.
      (apply
        (apply
          (variable (ident f))
          (list (variable (ident a)))
          (list))
        (list (variable (ident b)))
        (list))
      (ident c))
    (list (variable (ident d))))
  (list (variable (ident e)))
  (list))
