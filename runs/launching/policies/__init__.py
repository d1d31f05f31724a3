"""Retry policies: their pages, and the reruns that their rules ask for."""
