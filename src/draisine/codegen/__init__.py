"""Machine code and generated source: compiled kernels, passes with their switches, objects of CasADi and JAX."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
