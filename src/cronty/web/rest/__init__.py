"""Cronty as REST: the operations of the table over HTTP."""

from cronty.web.rest.app import refused, rest_app

__all__ = ["refused", "rest_app"]
