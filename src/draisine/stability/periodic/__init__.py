"""Periodic motions: `flow` carries named deviations along a motion, `shooting` closes it, `floquet` tells what deviations do,
`cycle` is the result, `branch` follows cycles over a parameter."""
