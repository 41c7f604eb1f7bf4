"""Text analysis: from a text to its terms."""
