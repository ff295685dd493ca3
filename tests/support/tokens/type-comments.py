# run: tokens
def f(x):  # type: (int) -> int
  # type: ignore
  y = []  #type: List[int]
  # typed: no
  # type: ignore[x]
  # type: ignored
  z
# ---- expect
2:0 def
2:4 ident f
2:5 (
2:6 ident x
2:7 )
2:8 :
2:11 type_comment # type: (int) -> int
2:31 newline
4:0 indent
4:2 ident y
4:4 =
4:6 [
4:7 ]
4:10 type_comment #type: List[int]
4:26 newline
7:2 type_comment # type: ignored
8:2 ident z
8:3 newline
9:0 dedent
9:0 eof
