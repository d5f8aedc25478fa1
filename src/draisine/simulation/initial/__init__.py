"""Consistent starts: fix these, solve those.

`solve` has the whole way: `wishes` are sorted, a `stage` of positions and one of velocities make each a system of residuals
(`solver`); `conflict` explains what cannot be; `result` is what comes out. The systems are solved by restricted Python, which is
written once for one start, for batches and for pages: `tasks` over `search`, `rest_velocities`, `descent`, `newton`,
`least_norm` and `residual_system`, on the `memory` that they share.
"""
