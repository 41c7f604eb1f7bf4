"""Tools: definitions, schemas, arguments, limits and results."""
