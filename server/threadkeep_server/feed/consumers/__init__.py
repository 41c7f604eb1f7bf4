"""Named consumers: members, assignments and checkpoints."""
