"""When a window is compacted (triggers) and how (strategies). Pure planners over the domain: no I/O, no clock, no model."""
