"""One file per subject. They are reached through `draisine.gallery`, whose names are functions and not files."""
