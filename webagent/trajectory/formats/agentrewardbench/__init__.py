"""AgentRewardBench: trajectories, people's annotations and judges' verdicts side by side."""
