"""The studio: models simulated live in a web page by exported JavaScript.

`dr.studio` is the function `draisine.studio.studio.studio`.
"""
