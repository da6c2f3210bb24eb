"""What a user declares: rows, columns, budgets, references, scenarios and models; and the bounds of forecasts."""
