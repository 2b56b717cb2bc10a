"""The ground that every room stands on: time, durations, errors, retries, columns, the wire format."""
