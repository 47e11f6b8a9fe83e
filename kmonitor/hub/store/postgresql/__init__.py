"""A team's history on a PostgreSQL server that several hubs share; needs psycopg."""
