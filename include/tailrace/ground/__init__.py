"""The lowest room, which every other room may import: time, durations, errors, retries; columns; files."""
