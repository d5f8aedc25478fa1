"""Runs as moving pictures: a page that plays by itself (`page`), and pictures, GIF and MP4 without a screen (`reel`)."""
