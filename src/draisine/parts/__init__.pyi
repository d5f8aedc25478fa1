"""Parts of machines: functions that add named assemblies to a model."""

from .rider.human import Human as Human
