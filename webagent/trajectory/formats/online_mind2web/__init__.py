"""Submissions to Online-Mind2Web, of both versions, with human labels and judges' output."""
