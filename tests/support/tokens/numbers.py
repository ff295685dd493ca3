# run: tokens
0 42 1_000 0x1F 0o17 0b1_01 .5 5. 1.5 1e-3 1E5 1_0.0_1e+1_0 2j 1.5J 00 1.e2
# ---- expect
2:0 number 0
2:2 number 42
2:5 number 1_000
2:11 number 0x1F
2:16 number 0o17
2:21 number 0b1_01
2:28 number .5
2:31 number 5.
2:34 number 1.5
2:38 number 1e-3
2:43 number 1E5
2:47 number 1_0.0_1e+1_0
2:60 number 2j
2:63 number 1.5J
2:68 number 00
2:71 number 1.e2
2:75 newline
3:0 eof
