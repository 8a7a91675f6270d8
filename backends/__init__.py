"""Methods, models and jobs: everything that computes. Knows nothing of pages or figures."""
