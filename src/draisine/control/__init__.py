"""Control: feedback laws and their design, prescribed paths by stable inversion."""
