"""Live subscriptions: one tail, shared by all subscribers."""
