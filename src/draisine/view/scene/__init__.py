"""Scenes: shapes fixed in the bodies of a mechanism, and drawings of them."""
