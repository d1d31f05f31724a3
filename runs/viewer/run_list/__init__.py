"""The runs table: columns, filters and orders."""
