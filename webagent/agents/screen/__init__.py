"""Agents that know a page by its picture alone: read as text, acted on by mouse and keyboard."""
