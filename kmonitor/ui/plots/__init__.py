"""One chart without Qt: axes, layout, labels, thinning of what is drawn."""
