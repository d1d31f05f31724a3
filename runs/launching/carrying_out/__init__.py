"""Carrying out one claimed run, from the browser's start to the stored end."""
