"""Branches of steady motions followed through folds and branch points, and atlases of turns."""
