# run: tokens
a; b;
# ---- expect
2:0 ident a
2:1 ;
2:3 ident b
2:4 ;
2:5 newline
3:0 eof
