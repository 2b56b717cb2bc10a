"""Fakes of hosts, servers and stores, and toy formats and kinds."""
