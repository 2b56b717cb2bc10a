"""Calibration by two time scales: delays from the newest windows, the winners' hazard ratio from thousands."""
