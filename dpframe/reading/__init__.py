"""From blocks of raw rows to exact integer totals of statistics. Nothing here is shown when printed."""
