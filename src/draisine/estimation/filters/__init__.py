"""Kalman filters and smoothers on the constraint manifold.

`chart`: geometry; `process_noise`: where noise enters; `prediction`: between samples; `methods`: filters and smoother;
`filter_result` and `consistency`: results; `filter`: the interface.
"""
