"""Every format that is read and written."""
