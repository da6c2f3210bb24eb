"""Blocks of raw rows to exact integer totals of statistics. No object of this package shows data when printed."""
