"""Whether the rows and the store hold what is always to hold of them."""
