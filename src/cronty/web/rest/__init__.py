"""Cronty as REST: the same doors, in the clothes of HTTP."""

from cronty.web.rest.app import PLACE, rest_app

__all__ = ["PLACE", "rest_app"]
