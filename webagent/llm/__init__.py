"""Language models behind one small interface: whoever asks one knows no provider."""
