# run: tokens
f(a,
  [b,

c], {  # why
d})
g
# ---- expect
2:0 ident f
2:1 (
2:2 ident a
2:3 ,
3:2 [
3:3 ident b
3:4 ,
5:0 ident c
5:1 ]
5:2 ,
5:4 {
6:0 ident d
6:1 }
6:2 )
6:3 newline
7:0 ident g
7:1 newline
8:0 eof
