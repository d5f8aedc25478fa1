"""Restricted Python: typed functions over arrays and records that run as they stand, or as machine code through LLVM.

A function of this language is annotated throughout and uses numbers, arrays (`types`), records (`record`) and other such
functions. `entry` finds all that a function calls, `function` translates each to the text of LLVM, `kernels.engine` makes machine
code of it. What the functions mean is what Python makes of them, with these differences, for which compiled code has no room:
integers have 64 bits, a division by zero gives an infinite number or NaN (zero among integers), indices are not checked and never
negative, and a square `x**2` is the product x·x.
"""
