"""Where a training's memory goes, layer by layer, from a plain description of its model."""
