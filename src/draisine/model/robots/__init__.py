"""Robot descriptions in the formats of others: URDF in and out, MJCF in. Each becomes links and joints, and these a `Model`."""
