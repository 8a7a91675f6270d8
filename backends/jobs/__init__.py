"""Where requests are computed: lanes of threads, and one process for what cannot be stopped."""
