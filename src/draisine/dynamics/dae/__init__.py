"""Differential-algebraic systems: index, reduction of the index, mechanisms as equations with multipliers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
