"""Generated from proto/threadkeep/v1 by `make proto`. Do not edit."""
