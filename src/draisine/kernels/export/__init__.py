"""Generated source: any program in other languages, and as objects of other libraries."""
