"""Runs as moving pictures: a page that plays by itself (`page`), and pictures, GIF and MP4 without a screen (`reel`)."""

from __future__ import annotations

from draisine.view.film.animation import Animation
from draisine.view.film.footage import Footage, Force

__all__ = ["Animation", "Footage", "Force"]
