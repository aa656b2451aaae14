"""The library: clients hold distributed arrays, servers direct the exchange and use the files."""
