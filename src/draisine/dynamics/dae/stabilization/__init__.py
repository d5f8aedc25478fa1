"""Drift control: stabilization of constraints and invariants in a computed motion."""
