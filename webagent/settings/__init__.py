"""Django settings: `local` (the embedded default), `production`, `test`; all start from `base`."""
