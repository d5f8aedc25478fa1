"""Certificates: independent derivations compared at random admissible states."""
