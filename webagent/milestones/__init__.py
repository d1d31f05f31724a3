"""How far a run came: milestones, how to tell them from its steps, and the progress they make."""
