"""The command `tailrace`."""
