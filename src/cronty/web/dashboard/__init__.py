"""The dashboard: server-rendered pages about an owner's jobs and runs."""

from cronty.web.dashboard.routes import dashboard_routes

__all__ = ["dashboard_routes"]
