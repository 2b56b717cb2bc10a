"""Sources of streams: file formats, feeds, the check of raw records, quarantine and history."""
