"""States from data: Kalman filters and smoothers that stay on the constraints.

`chart` has the geometry, `noise` where noise enters, `passage` what happens between samples, `methods` the filters, `smoothing`
the way back, `filtered` and `consistency` what comes out; `filtering` is the verb.
"""
