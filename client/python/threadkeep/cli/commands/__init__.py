"""The commands of `threadkeep`, one module per command or group of commands."""
