"""What a mechanism looks like: shapes fixed in its bodies, and drawings of them."""
