"""Cronty as REST: the same doors, in the clothes of HTTP."""

from cronty.web.rest.app import PLACE, refused, rest_app

__all__ = ["PLACE", "refused", "rest_app"]
