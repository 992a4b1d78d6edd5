"""Cronty as REST: the operations of the table over HTTP."""

from cronty.web.rest.app import refused, rest_app
from cronty.web.rest.metrics import metrics_route

__all__ = ["metrics_route", "refused", "rest_app"]
