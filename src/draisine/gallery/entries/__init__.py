"""Entries of the gallery, one file per subject. `draisine.gallery` exports their functions by name."""
