"""Reports: description, equations, certificate, stability and a sample run of a model in one document."""
