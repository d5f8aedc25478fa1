"""Periodic motions: `flow` propagates named deviations, `shooting` solves the boundary value problem, `floquet` computes the
multipliers, `cycle` is the result, `branch` follows cycles over a parameter."""
