"""Cronty as MCP tools: the operations of the table, and three dialects of them."""
