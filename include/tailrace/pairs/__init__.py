"""The join of two disordered streams: the operator that all kinds whose answers are pairs share."""
