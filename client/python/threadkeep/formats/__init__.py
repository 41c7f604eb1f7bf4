"""Messages of model vendors: to events, and from events."""
