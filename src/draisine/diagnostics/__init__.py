"""The constraint doctor: freedoms, redundancy, integrability, index, singularities, symmetries, reach."""
