"""Feedback laws, observers and prescribed paths; `lqr` is at the top of the package."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
