"""What the core itself provides, through the same hooks as any plugin."""
