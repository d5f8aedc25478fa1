"""Frozen data that people keep: what a run gave, how it ended, and the files it is kept in."""
