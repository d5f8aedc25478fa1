"""Optimal control: transcriptions and solvers, gradients by the adjoint method, tracking and predictive control."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
