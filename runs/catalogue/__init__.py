"""What agents are given and who they are: task sets, patches, milestones, sites, agents."""
