"""What a user declares: rows and columns, budgets, references, scenarios, models, and the bounds that are forecast."""
