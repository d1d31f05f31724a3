"""LLM judges as pure logic: questions to a `LanguageModel`, and verdicts from its replies.

No Django, no stored run, no provider: usable from a notebook. Prompts are versioned files under
`prompts/`, which are never edited once they have been used.
"""
