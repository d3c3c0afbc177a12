"""Every sentence the model reads, and nothing else."""
