"""How objects are shown: plain text, tables, JSON and redaction."""
