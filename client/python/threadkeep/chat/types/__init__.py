"""Messages, requests and responses: the values of a conversation."""
