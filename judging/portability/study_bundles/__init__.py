"""A whole study on its way to another installation and back, without loss."""
