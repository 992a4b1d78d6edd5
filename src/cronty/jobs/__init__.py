"""What a job, a run, an action, a policy and an outcome are; pure."""
