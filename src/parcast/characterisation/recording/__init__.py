"""Programs in any language as `characterise` reads them: a recorder of what they call in MPI."""
