"""Speed and memory beside the tools people use: `python -m benchmarks`. See README.md here."""
