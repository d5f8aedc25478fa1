"""Feedback design: regulators, observers, gain schedules, feedback linearization; every law is compiled into the simulation."""
