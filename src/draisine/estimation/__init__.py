"""Estimation: parameters and states from measured data, with uncertainty; design of experiments."""
