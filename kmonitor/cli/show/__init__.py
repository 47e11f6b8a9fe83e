"""`kmonitor show`: one run as text, once or followed live."""
