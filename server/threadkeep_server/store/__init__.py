"""Where logs live. `base` is the contract; `memory` is what it means; `sql` is what it runs on."""
