"""What people say about cases: samples to label, labels, how far people agree, and what labels say about a check."""
