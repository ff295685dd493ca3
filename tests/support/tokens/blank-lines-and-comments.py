# run: tokens
if x:

  # a comment alone
    # deeper than the block
  y

# at the margin
  z # behind

# ---- expect
2:0 if
2:3 ident x
2:4 :
2:5 newline
6:0 indent
6:2 ident y
6:3 newline
9:2 ident z
9:12 newline
11:0 dedent
11:0 eof
