"""One servicer for each proto service: convert, call the use case, convert back."""
