"""Commands that belong to no question: `import` and `testbed`."""
