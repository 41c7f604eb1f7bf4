"""Metrics of the server, without the text of messages, credentials, and names of users, apps or sessions.

`definitions` lists every metric; `meters` holds those that parts of the server count; `prometheus` writes the page.
"""
