"""Motion of trees body by body: passes outward and inward whose cost grows with the number of bodies.

- `stations`: the tree as elementary frames, and what takes motions from one to the next;
- `held`: constraint rows in the axes of the body they belong to, each solved for a velocity of the tree on its way to the ground;
- `passes`: velocities outward, articulated inertias inward, accelerations and multipliers outward.
"""
