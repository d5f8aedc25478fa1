"""Diagnostics: certificates; and of constraints: freedoms, redundancy, integrability, index, singularities, symmetries."""
