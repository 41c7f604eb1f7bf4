"""Tools: definitions, schemas, arguments, and what one turn may do with them."""
