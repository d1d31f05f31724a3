"""Why evaluators were wrong: tagging errors and summing the causes."""
