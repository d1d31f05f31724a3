"""WebArena-Verified's task folders: an answer, a network trace, a verdict. No pictures."""
