"""Calibration by two time scales: delays of the newest windows, and the winners' hazard ratio over thousands."""
