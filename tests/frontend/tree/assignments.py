# run: tree
x = 1
x = y = z
x.a, y[0] = z
x, = f()
a, *b = x
[a, (b, c)] = x
x0, sr0, = (self)._validate_input(x, sr, )
# ---- expect
(assign
  (list (variable (ident x)))
  (option (const 1))
  (option))
(assign
  (list
    (variable (ident x))
    (variable (ident y)))
  (option (variable (ident z)))
  (option))
(assign
  (list
    (tuple literal
      (list
        (.
          (variable (ident x))
          (ident a))
        (subscript
          (variable (ident y))
          (list (const 0))))))
  (option (variable (ident z)))
  (option))
(assign
  (list
    (tuple literal
      (list (variable (ident x)))))
  (option
    (apply
      (variable (ident f))
      (list)
      (list)))
  (option))
(assign
  (list
    (tuple literal
      (list
        (variable (ident a))
        (starred (variable (ident b))))))
  (option (variable (ident x)))
  (option))
(assign
  (list
    (tuple literal
      (list
        (variable (ident a))
        (tuple literal
          (list
            (variable (ident b))
            (variable (ident c)))))))
  (option (variable (ident x)))
  (option))
(assign
  (list
    (tuple literal
      (list
        (variable (ident x0))
        (variable (ident sr0)))))
  (option
    (apply
      (.
        (variable (ident self))
        (ident _validate_input))
      (list
        (variable (ident x))
        (variable (ident sr)))
      (list)))
  (option))
