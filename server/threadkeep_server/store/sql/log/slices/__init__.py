"""Long work in slices, between which others write: removing and archiving many events."""
