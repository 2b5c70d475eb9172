"""calibo against its peers: one protocol, one small adapter for each optimizer. ``python -m benchmarks.peers.run --help``."""
