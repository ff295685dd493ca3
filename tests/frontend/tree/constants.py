# run: tree
True
False
None
...
1_000
0xff
1e3
2j
# ---- expect
(True)
(False)
(None)
(dots)
(const 1_000)
(const 0xff)
(const 1e3)
(const 2j)
