"""Results with their pictures."""
