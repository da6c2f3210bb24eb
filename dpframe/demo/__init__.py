"""A release on embedded data, from the plan to the report."""
