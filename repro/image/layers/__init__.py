"""The layers of a bundle's image, each written once and kept by what it is made of."""
