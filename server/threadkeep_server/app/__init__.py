"""The composition root: builds the server from its settings. The only package that imports every layer."""
