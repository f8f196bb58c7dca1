"""The training job: from a specification or a file to a DAG of ops."""
