# run: tokens
if a:
  if b:
    if c:
      d
e
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
4:4 if
4:7 ident c
4:8 :
4:9 newline
5:0 indent
5:6 ident d
5:7 newline
6:0 dedent
6:0 dedent
6:0 dedent
6:0 ident e
6:1 newline
7:0 eof
