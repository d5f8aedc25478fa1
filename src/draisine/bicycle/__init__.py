"""What only two-wheelers have: Whipple's matrices, measured parameters, hands-free turns."""
