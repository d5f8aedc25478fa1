"""Model descriptions: builder, validation and model files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["contact"])
