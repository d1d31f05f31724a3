"""No input takes more than linear time: every pattern, every function of texts, every parser."""
