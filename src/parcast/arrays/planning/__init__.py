"""How many I/O servers, and which distribution of the arrays over them: plans of a request."""
