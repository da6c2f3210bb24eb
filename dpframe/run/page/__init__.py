"""Reports as one HTML file each, with everything in it: nothing is loaded from elsewhere."""
