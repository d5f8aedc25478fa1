"""Contacts of wheels with the ground: tangential laws, tires and their files, roads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
