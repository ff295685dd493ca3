# run: tree
[x for x in y]
[x + 1 for x, (y, *z) in w if x if not y]
{k: v for k, v in d.items() if k}
# ---- expect
(list comprehension
  (variable (ident x))
  (variable (ident x))
  (variable (ident y))
  (list))
(list comprehension
  (+ (variable (ident x)) (const 1))
  (tuple literal
    (list
      (variable (ident x))
      (tuple literal
        (list
          (variable (ident y))
          (starred
            (variable (ident z)))))))
  (variable (ident w))
  (list
    (variable (ident x))
    (not (variable (ident y)))))
(dict comprehension
  (variable (ident k))
  (variable (ident v))
  (tuple literal
    (list
      (variable (ident k))
      (variable (ident v))))
  (apply
    (.
      (variable (ident d))
      (ident items))
    (list)
    (list))
  (list (variable (ident k))))
