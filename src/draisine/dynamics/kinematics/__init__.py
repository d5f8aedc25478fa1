"""Kinematics of the tree in symbols: frames, twists, inertias, poses and measures."""
