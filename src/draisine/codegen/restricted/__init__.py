"""Restricted Python: typed functions over arrays and records that run interpreted, or as machine code through LLVM.

A function of this language is defined at the top level of its module, is fully annotated and uses

- numbers: `int`, `float`, `bool`, `complex`; arrays of them (`types`: `Vector`, `Matrix`, …), their rows `a[i]` and parts
  `a[i:j]`; records and lists of records (`record`); tuples as results and on both sides of an assignment;
- assignment, also `+=`, of names, elements and fields; a name keeps its type; `for … in range(…)`, `while`, `break`,
  `continue`, `if`, `return`;
- arithmetic, comparisons (also in chains), `and`, `or`, `not`, `… if … else …`; constants of modules;
- `abs`, `min`, `max`, `int`, `float`, `len`, `conjugate`, functions of `math`, `call_kernel` and `restore` (`record`), and
  other such functions of any module. A function whose parameters are type variables (`Numbers`, …) is compiled for each type it
  is called with.

`function` translates a function, and all functions that it calls, to LLVM; `entry` keeps the machine code on disk. What is
outside the language is refused with its file, line and reason.

The semantics are those of Python, with these differences: integers have 64 bits, a division by zero gives infinity or NaN (zero
for integers), indices are not checked and never negative, and a square `x**2` is the product x·x.
"""
