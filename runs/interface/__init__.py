"""What all pages share: paging, filters, form fields, words, errors, middleware."""
