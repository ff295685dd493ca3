# run: tokens
x = 1 + \
    2
y
# ---- expect
2:0 ident x
2:2 =
2:4 number 1
2:6 +
3:4 number 2
3:5 newline
4:0 ident y
4:1 newline
5:0 eof
