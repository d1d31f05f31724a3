"""What all pages share: paging, filters, words, pictures, rows of tables; bars of commands."""
