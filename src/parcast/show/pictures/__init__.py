"""Pictures as SVG, written in milliseconds: the part of matplotlib's axes that they use."""
