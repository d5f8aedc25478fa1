"""The certificate: independent derivations compared at random admissible states."""
