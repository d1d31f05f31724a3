"""Studies: runs put before people, from sampling to the reference verdict."""
