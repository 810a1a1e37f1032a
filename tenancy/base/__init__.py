"""Names, kinds, quantities, errors and base models that all other packages use."""
