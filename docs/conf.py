"""Sphinx: `sphinx-build -W docs site`, which `make docs` does; with `-t quick` no page is run and one study is filmed."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "draisine"
author = "the draisine developers"
release = metadata.version("draisine")
project_copyright = "the draisine developers, BSD-3-Clause"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx_copybutton",
    "sphinx_design",
    "extensions.checked_pages",
    "extensions.reference",
    "extensions.markup",
    "extensions.search_index",
    "extensions.notebooks",
    "extensions.links",
]
exclude_patterns = ["extensions", "inventories"]
smartquotes = False  # texts quote code

# ---------------------------------------------------------------- pages

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4  # as GitHub names them, so that links hold in both places
myst_dmath_allow_digits = False
myst_dmath_double_inline = False
myst_dmath_allow_space = False
html_math_renderer = "mathml"  # ours: no script, no fonts from elsewhere
copybutton_selector = "div:not(.highlight-output) > div.highlight pre"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

# ---------------------------------------------------------------- reference

autodoc_default_options = {"members": True, "inherited-members": "BaseException,Enum,dict,tuple,str,object"}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autosummary_generate = False  # `extensions.reference` writes the pages
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

# Nothing is fetched: these are excerpts in the plain first version of the format, with the names that our signatures use.
_ELSEWHERE = {
    "python": "https://docs.python.org/3",
    "numpy": "https://numpy.org/doc/stable",
    "pandas": "https://pandas.pydata.org/docs",
    "xarray": "https://docs.xarray.dev/en/stable",
    "matplotlib": "https://matplotlib.org/stable",
    "sympy": "https://docs.sympy.org/latest",
}
intersphinx_mapping = {name: (address, f"inventories/{name}.inv") for name, address in _ELSEWHERE.items()}
intersphinx_disabled_reftypes = ["std:doc"]

# ---------------------------------------------------------------- looks

html_theme = "pydata_sphinx_theme"
html_title = "draisine"
html_logo = html_favicon = "static/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # its excerpts are fetched, which browsers refuse to files; the search of site.js has them
html_theme_options = {
    "logo": {"text": "draisine"},
    "search_bar_text": "Search  ( / )",
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "**": ["sidebar-nav-bs"]}
html_context = {"default_mode": "auto"}
