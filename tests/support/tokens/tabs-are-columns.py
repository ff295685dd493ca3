# run: tokens
if x:
	y
	if z:
	  w
# ---- expect
2:0 if
2:3 ident x
2:4 :
2:5 newline
3:0 indent
3:1 ident y
3:2 newline
4:1 if
4:4 ident z
4:5 :
4:6 newline
5:0 indent
5:3 ident w
5:4 newline
6:0 dedent
6:0 dedent
6:0 eof
