"""The part of the composition root that searches and remembers."""
