"""First steps of pipelines, shared by the trials with equal settings of these steps."""
