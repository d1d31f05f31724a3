"""Whether people's and evaluators' judgements are as they must be."""
