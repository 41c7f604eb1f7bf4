"""Use cases of the feed: subscriptions, consumers and retention."""
