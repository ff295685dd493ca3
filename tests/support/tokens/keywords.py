# run: tokens
def class import return raise assert if else elif while for in break continue pass del with as
global and or not is lambda True False None
# ---- expect
2:0 def
2:4 class
2:10 import
2:17 return
2:24 raise
2:30 assert
2:37 if
2:40 else
2:45 elif
2:50 while
2:56 for
2:60 in
2:63 break
2:69 continue
2:78 pass
2:83 delete del
2:87 with
2:92 as
2:94 newline
3:0 global
3:7 and
3:11 or
3:14 not
3:18 is
3:21 lambda
3:28 True
3:33 False
3:39 None
3:43 newline
4:0 eof
