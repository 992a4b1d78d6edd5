"""What happens when nobody asks: fire, work, settle, rescue, prune."""
