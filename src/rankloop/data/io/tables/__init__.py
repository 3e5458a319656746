"""Tables in files, databases and memory: columns found, values checked, queries gathered."""
