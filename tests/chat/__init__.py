"""The agent kit: what is asked of it holds for its asynchronous and its synchronous form, for call and for stream."""
