"""Animations of runs: a self-contained web page (`page`), and pictures, GIF and MP4 without a screen (`reel`)."""
