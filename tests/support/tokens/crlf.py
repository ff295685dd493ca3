# run: tokens
if x:
  y
z
# ---- expect
2:0 if
2:3 ident x
2:4 :
2:5 newline
3:0 indent
3:2 ident y
3:3 newline
4:0 dedent
4:0 ident z
4:1 newline
5:0 eof
