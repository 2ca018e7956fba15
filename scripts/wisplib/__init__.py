"""Shared by the scripts of this folder. Python's standard library only, Python 3.9 or newer."""
