"""The kind `emd_join`: similarity join of two histogram streams under the Earth Mover's Distance (paper 000)."""
