"""The tree of bodies in symbols: frames, twists, inertias, poses and measures."""
