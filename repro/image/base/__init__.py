"""Base images: found, pulled, or made on this machine from Debian packages."""
