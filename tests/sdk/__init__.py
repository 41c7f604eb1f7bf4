"""The SDKs of each language: their own tests, their packages, their quickstarts."""
