"""Methods for initial value problems, one file each: its numbers, its paper, a thin frozen class."""
