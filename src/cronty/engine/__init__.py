"""What happens without a request: fire, work, settle, rescue, prune."""
