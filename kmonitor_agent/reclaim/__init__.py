"""Save, collect and reload, with the record of what they did."""
