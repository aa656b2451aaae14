"""Suites that what another package adds passes, as parcast's own does.

There is one for subjects, launchers, laws, importers and channels. A check raises what tells its
author what is wrong, and else gives what it has made.
"""
