"""What is raised when a description is wrong."""

from __future__ import annotations


class ModelError(ValueError):
    """Something in a description is wrong; the message names the item and the cure."""
