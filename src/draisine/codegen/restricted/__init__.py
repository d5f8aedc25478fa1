"""Restricted Python: typed functions over arrays and records that run as they stand, or as machine code through LLVM.

A function of this language stands at the top of its module, is annotated throughout and uses

- numbers: `int`, `float`, `bool`, `complex`; arrays of them (`types`: `Vector`, `Matrix`, …), their rows `a[i]` and parts
  `a[i:j]`; records and lists of records (`record`); tuples as results and on both sides of an assignment;
- assignment, also `+=`, of names, elements and fields; a name keeps its type; `for … in range(…)`, `while`, `break`,
  `continue`, `if`, `return`;
- arithmetic, comparisons (also in chains), `and`, `or`, `not`, `… if … else …`; constants of modules;
- `abs`, `min`, `max`, `int`, `float`, `len`, `conjugate`, functions of `math`, `call_kernel` (`calls`), `restore` (`record`),
  and other such functions of any module. One whose parameters are type variables (`Numbers`, …) is compiled for each type it is
  called with.

`translate` finds all that a function calls, `function` makes the text of LLVM of each, `entry` keeps the machine code on disk.
What is beyond the language is refused with its file, line and reason.

What the functions mean is what Python makes of them, with these differences, for which compiled code has no room: integers have
64 bits, a division by zero gives an infinite number or NaN (zero among integers), indices are not checked and never negative, and
a square `x**2` is the product x·x.
"""
