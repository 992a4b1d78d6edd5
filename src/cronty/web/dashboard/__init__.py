"""The dashboard: what a person sees of their schedules, as pages made on the server."""

from cronty.web.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
