"""The lowest layer, which every other package may import: time, durations, errors, retries, columns, wire format."""
