"""Model descriptions: builder, validation and model files."""
