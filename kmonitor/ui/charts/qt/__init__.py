"""Chart cards in their grid, and the controllers that feed and arrange them."""
