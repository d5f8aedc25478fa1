"""Differential-algebraic systems: index, reduction of the index, mechanisms as equations with multipliers."""

from .as_dae import as_dae as as_dae
from .index_of import index_of as index_of
from .index_reduction import reduce_index as reduce_index
