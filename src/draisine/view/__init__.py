"""Pictures of models and results: plots, scenes, films, reports. Matplotlib is imported when the first figure is made."""
