"""Who is blinded to which run, and the record of unblinding."""
