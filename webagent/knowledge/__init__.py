"""What past runs teach: which of them matter, and what agents are told of them."""
