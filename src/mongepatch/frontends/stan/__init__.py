"""Stan models as targets. Imported only when asked for."""
