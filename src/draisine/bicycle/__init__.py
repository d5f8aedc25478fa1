"""Bicycles and other two-wheelers: Whipple matrices, measured parameters, steady turns."""
