"""Message logs of OpenAI's and Anthropic's computer use, as people dump them."""
