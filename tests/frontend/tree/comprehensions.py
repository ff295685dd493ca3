# run: tree
[x for x in y]
[x + 1 for x, (y, *z) in w if x if not y]
{k: v for k, v in d.items() if k}
[x for y in z if y for x in y if x if not y]
# ---- expect
(list comprehension
  (variable (ident x))
  (list
    (for
      (variable (ident x))
      (variable (ident y))
      (list))))
(list comprehension
  (+ (variable (ident x)) (const 1))
  (list
    (for
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
        (not (variable (ident y)))))))
(dict comprehension
  (variable (ident k))
  (variable (ident v))
  (list
    (for
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
      (list (variable (ident k))))))
(list comprehension
  (variable (ident x))
  (list
    (for
      (variable (ident y))
      (variable (ident z))
      (list (variable (ident y))))
    (for
      (variable (ident x))
      (variable (ident y))
      (list
        (variable (ident x))
        (not (variable (ident y)))))))
