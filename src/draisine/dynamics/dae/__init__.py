"""The index of differential-algebraic systems: structure, numbers, words; mechanisms as posed; and its reduction."""
