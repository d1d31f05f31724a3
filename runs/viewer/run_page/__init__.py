"""The page of one run, live while the run goes on."""
