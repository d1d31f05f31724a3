"""The endpoints over judgements, and the API as it is mounted: these and those over runs."""
