"""Generated from proto/recollect/v1 by `make proto`. Do not edit."""
