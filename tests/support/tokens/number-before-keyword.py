# run: tokens
1if 0x1for 2or
# ---- expect
2:0 number 1
2:1 if
2:4 number 0x1f
2:8 or
2:11 number 2
2:12 or
2:14 newline
3:0 eof
