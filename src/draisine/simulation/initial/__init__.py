"""Consistent starts: fix these, solve those.

`solve` has the whole way: `wishes` are sorted, a `stage` of positions and one of velocities make each a `level` of scaled
equations, which `search` solves by `newton` and `descent`; `calm` keeps independent velocities at rest; `conflict` explains what
cannot be; `result` is what comes out.
"""
