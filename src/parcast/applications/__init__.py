"""What is built of the pipeline: features of texts, search in them, and sorting."""
