"""All around the training that can change a number: settings, libraries, files, modules."""
