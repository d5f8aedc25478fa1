"""The verbs that join the two sides: descriptions and equations on one, kernels and runs on the other.

| file | verb |
| --- | --- |
| `moving.py` | `simulate`: from a description to a trajectory |
| `computed.py` | `compute`: the same up to the run, without an account of it |
| `holding.py` | what drift controls and formulations ask of a run |
| `prepared.py` | what runs of the same equations share |
| `telling.py` | a run as a trajectory, with its warnings |
| `making.py` | `compile`, `export`: programs as machine code and as source code |
| `judging.py` | `certify`: derivations and descriptions compared |

What a plain run does not need is imported where it is used: a run of equations that are at hand imports no CasADi.
"""
