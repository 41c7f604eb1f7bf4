"""The Threadkeep server. `app` puts the layers together; see the map in README.md."""
