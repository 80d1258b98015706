"""Evidence against candidates: staging, the suite, fixtures and properties."""
