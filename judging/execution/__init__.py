"""Work that runs in the background, without knowing of the queue."""
