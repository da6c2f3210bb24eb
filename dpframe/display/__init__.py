"""Plain text, tables and redaction: what is shown of an object, and how."""
