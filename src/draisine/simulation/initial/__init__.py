"""Consistent starts: some quantities are prescribed, the rest is solved for.

`consistent_start` sorts the targets (`problem`) and solves the position level, then the velocity level, each as a residual system
(`solver`). `conflict` explains targets that have no solution; `result` holds what is returned. The residual systems are solved by
restricted Python, written once for single starts, batches and web pages: `search` with `ground_pose`, `rest_velocities`,
`descent`, `newton` and `residual_system`, on the shared `memory`. `rest_groups` says in which order velocities rest.
"""
