"""The studio: models that run live in a page, from the JavaScript that the exporter generates.

The package is its own verb: `dr.studio(model)` is `draisine.studio.studio.open_studio`.
"""
