"""A scripted resident of Larkfield, and the errands that it knows."""
