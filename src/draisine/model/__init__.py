"""Describe a system by names."""
