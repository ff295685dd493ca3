# run: tree
[]
[1, 2,]
()
(1,)
(1, 2)
1, 2
{}
{1: 2, 3: 4,}
{1, 2}
[*a, b]
# ---- expect
(list literal (list))
(list literal
  (list (const 1) (const 2)))
(tuple literal (list))
(tuple literal (list (const 1)))
(tuple literal
  (list (const 1) (const 2)))
(tuple literal
  (list (const 1) (const 2)))
(dict literal (list) (list))
(dict literal
  (list (const 1) (const 3))
  (list (const 2) (const 4)))
(set literal
  (list (const 1) (const 2)))
(list literal
  (list
    (starred (variable (ident a)))
    (variable (ident b))))
