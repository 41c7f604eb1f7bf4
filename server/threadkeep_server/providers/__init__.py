"""What the packages that ask models share: HTTP under the vendors' libraries, attempts and waits, and a quiet log."""
