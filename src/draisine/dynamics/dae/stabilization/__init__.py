"""Drift control: what keeps a computed motion on its constraints and invariants, chosen by name."""
