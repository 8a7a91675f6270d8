"""Language models: what can be loaded, what is loaded, and the verbs that run it."""
