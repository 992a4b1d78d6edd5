"""Doing it: the only room that runs other people's code or calls out."""
