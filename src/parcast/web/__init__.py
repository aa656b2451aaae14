"""`parcast web`: a page that answers what-if questions about the files it is given."""
