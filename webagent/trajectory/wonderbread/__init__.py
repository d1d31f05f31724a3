"""WonderBread's human demonstrations of WebArena tasks."""
