"""Features of documents: tokens, parts of speech, noun phrases, and the lexicon of all of them."""
