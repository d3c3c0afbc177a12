"""What makes room when the window is full: one file per strategy."""
