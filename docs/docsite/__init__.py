"""The site: Markdown pages of `docs/`, the gallery, the docstrings and the published figures as static HTML that asks nobody for
anything. `python docs/build.py` builds it; `snippets.py` and `links.py` are what the tests use, too.
"""
