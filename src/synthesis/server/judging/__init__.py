"""Judged runs by the offline judge: each in a folder of its own, worked on one after the other beside the server."""
