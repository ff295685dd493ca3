# run: tree
class A:
  def f(self): pass
  def g(self):
    for i in x:
      if i:
        return i
  x: int
# ---- expect
(class
  (ident A)
  (list)
  (list
    (def
      (ident f)
      (decl
        (list
          (param
            (ident self)
            (option)
            (option)
            (False)))
        (option))
      (list (pass))
      (list))
    (def
      (ident g)
      (decl
        (list
          (param
            (ident self)
            (option)
            (option)
            (False)))
        (option))
      (list
        (for
          (variable (ident i))
          (variable (ident x))
          (list
            (if
              (variable (ident i))
              (list
                (return
                  (variable (ident i))))
              (list)))))
      (list))
    (assign
      (list (variable (ident x)))
      (option)
      (option (variable (ident int)))))
  (list))
