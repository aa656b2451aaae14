"""A program described from its own profiles, region by region: `parcast characterise`."""
