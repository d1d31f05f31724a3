"""The generic agent: a language model that looks at a page and chooses the next action."""
