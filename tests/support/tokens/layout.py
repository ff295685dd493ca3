# run: tokens
if
  .
  .
# ---- expect
2:0 if
2:2 newline
3:0 indent
3:2 .
3:3 newline
4:2 .
4:3 newline
5:0 dedent
5:0 eof
