"""Where credentials come from that the settings do not contain."""
