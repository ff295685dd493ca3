# run: tokens
    if x:
      y
    z
# ---- expect
2:4 if
2:7 ident x
2:8 :
2:9 newline
3:0 indent
3:6 ident y
3:7 newline
4:4 dedent
4:4 ident z
4:5 newline
5:0 eof
