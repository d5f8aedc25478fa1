"""Uniform random numbers of NumPy's default generator, bit for bit, without `numpy.random`.

A derivation draws a thousand numbers for its samples. Importing `numpy.random` for them loads nine libraries and OpenSSL, 6 MiB,
and takes longer than all of them. The generator is PCG64 (O'Neill, "PCG: A family of simple fast space-efficient statistically
good algorithms for random number generation", 2014: XSL-RR on a state of 128 bits), seeded as NumPy seeds it. In Python a number
takes 1 µs: who draws many, or of another distribution, takes NumPy's.
"""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import NDArray

_WORD, _LONG, _STATE = 2**32 - 1, 2**64 - 1, 2**128 - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_POOL = 4  # words of entropy


class UniformNumbers:
    """Numbers of `numpy.random.default_rng(seed)`.

    >>> UniformNumbers(17).uniform(-1.0, 1.0, 2).tolist() == np.random.default_rng(17).uniform(-1.0, 1.0, 2).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        start, sequence = _seeded(seed)
        self._increment = (2 * sequence + 1) & _STATE
        self._state = 0
        self._step()
        self._state = (self._state + start) & _STATE
        self._step()

    @overload
    def uniform(self, low: float, high: float) -> float: ...
    @overload
    def uniform(self, low: float, high: float, count: int) -> NDArray[np.float64]: ...
    def uniform(self, low: float, high: float, count: int | None = None) -> float | NDArray[np.float64]:
        """A number between `low` and `high`, or an array of them."""
        if count is None:
            return low + (high - low) * self._fraction()
        return low + (high - low) * np.array([self._fraction() for _ in range(count)])

    def _step(self) -> None:
        self._state = (self._state * _MULTIPLIER + self._increment) & _STATE

    def _fraction(self) -> float:
        """53 random bits, in [0, 1)."""
        self._state = state = (self._state * _MULTIPLIER + self._increment) & _STATE
        mixed, turn = (state >> 64) ^ (state & _LONG), state >> 122
        return ((mixed >> turn | mixed << (64 - turn)) & _LONG) // 2048 * 2.0**-53


def _seeded(seed: int) -> tuple[int, int]:
    """The start and the sequence that NumPy's `SeedSequence` makes of a seed, numbers of 128 bits each.

    Entropy is mixed into a pool of four words, and read from there (O'Neill, "Developing a seed_seq alternative", 2015).
    """
    entropy = [seed >> shift & _WORD for shift in range(0, max(seed.bit_length(), 1), 32)]
    constant = 0x43B0D7E5

    def hashed(value: int) -> int:
        nonlocal constant
        value ^= constant
        constant = constant * 0x931E8875 & _WORD
        value = value * constant & _WORD
        return value ^ value >> 16

    def mixed(one: int, other: int) -> int:
        value = (one * 0xCA01F9DD - other * 0x4973F715) & _WORD
        return value ^ value >> 16

    pool = [hashed(entropy[k] if k < len(entropy) else 0) for k in range(_POOL)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = mixed(pool[target], hashed(pool[source]))
    for word in entropy[_POOL:]:
        pool = [mixed(value, hashed(word)) for value in pool]
    words, constant = [], 0x8B51F9DD
    for k in range(8):
        value = pool[k % _POOL] ^ constant
        constant = constant * 0x58F38DED & _WORD
        value = value * constant & _WORD
        words.append(value ^ value >> 16)
    high, low, *sequence = (words[k] | words[k + 1] << 32 for k in range(0, 8, 2))
    return high << 64 | low, sequence[0] << 64 | sequence[1]
