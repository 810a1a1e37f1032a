"""Names, kinds, quantities, errors and base models. All other packages use them."""
