"""A release on built-in data, from the plan to the report."""
