"""What the core provides by itself, through the same hooks as any plugin."""
