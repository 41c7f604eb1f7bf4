"""Output for people and for programs: tables, changes, search results and charts."""
