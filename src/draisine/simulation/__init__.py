"""Initial value problems: consistent starts, integration methods, events, control, and the driver of a run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, submodules=["methods"])
