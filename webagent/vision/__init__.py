"""Reading a screen without its markup."""
