"""The composition root: creates the server from its settings. The only package that imports every layer."""
