"""Model files read without a framework, and models described by processes of their own."""
