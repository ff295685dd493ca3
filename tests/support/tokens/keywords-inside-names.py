# run: tokens
iff _if if_ is_not None_ fore
# ---- expect
2:0 ident iff
2:4 ident _if
2:8 ident if_
2:12 ident is_not
2:19 ident None_
2:25 ident fore
2:29 newline
3:0 eof
