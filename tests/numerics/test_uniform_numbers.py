"""Numbers of NumPy's default generator, bit for bit, for random seeds and ranges."""

from __future__ import annotations

import random

import numpy as np

from draisine.numerics.uniform_numbers import UniformNumbers


def test_numbers_are_those_of_numpy():
    drawn = random.Random(3)
    for bits in [0, 1, 7, 31, 32, 33, 63, 64, 96, 128, 129, 200] * 20:
        seed = drawn.getrandbits(bits) if bits else 0
        low, high = sorted(drawn.uniform(-5.0, 5.0) for _ in range(2))
        ours, theirs = UniformNumbers(seed), np.random.default_rng(seed)
        for count in (0, 1, drawn.randint(2, 9)):
            assert ours.uniform(low, high, count).tolist() == theirs.uniform(low, high, count).tolist(), seed
            assert ours.uniform(low, high) == theirs.uniform(low, high)
