"""Environments for reinforcement learning: models as Gymnasium environments, single or many side by side."""
