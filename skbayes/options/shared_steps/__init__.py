"""First steps of pipelines, which trials with equal settings share."""
