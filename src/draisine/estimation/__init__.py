"""Parameters from data, with their uncertainty."""
