"""Results that draw themselves: here what was computed and its pictures meet, since neither side knows the other."""
