"""Methods for initial value problems, one file each: coefficients, the paper, and a small frozen class.

>>> from draisine.simulation import methods
>>> methods.RK4(step=0.01).order
4
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
