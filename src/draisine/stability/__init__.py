"""Linear models, steady motions and their branches, periodic motions, stability maps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
