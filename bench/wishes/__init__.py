"""What people usually want of a scheduler, as small programs: ours and those of others, to count and to run."""
