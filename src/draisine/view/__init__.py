"""Figures of results: functions that take a `Trajectory` and give a Matplotlib `Figure`, no window needed.

Matplotlib is imported when the first figure is drawn.
"""
