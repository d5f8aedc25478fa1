"""Expressions as data: tree, parser, units, tables and functions with finite derivatives."""
