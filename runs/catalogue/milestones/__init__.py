"""The milestones of tasks: definitions, form and file."""
