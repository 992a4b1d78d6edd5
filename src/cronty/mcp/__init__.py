"""Cronty as MCP tools: three dialects of one model, and what they share."""
