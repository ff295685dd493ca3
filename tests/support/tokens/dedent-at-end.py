# run: tokens
if a:
  if b:
    c
# ---- expect
2:0 if
2:3 ident a
2:4 :
2:5 newline
3:0 indent
3:2 if
3:5 ident b
3:6 :
3:7 newline
4:0 indent
4:4 ident c
4:5 newline
5:0 dedent
5:0 dedent
5:0 eof
