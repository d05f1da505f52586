"""Where torch is listened to: one file a place."""
