"""What is stored of a run, written out for other programs; knows neither Qt nor the terminal."""
