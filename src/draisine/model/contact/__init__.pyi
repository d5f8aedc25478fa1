"""Contacts of wheels with the ground: tangential laws, tires and their files, roads."""

from . import roads as roads
from .dry_friction import DryFriction as DryFriction
from .laws import (
    Coulomb as Coulomb,
    Creep as Creep,
    Rolling as Rolling,
    ShenHedrickElkins as ShenHedrickElkins,
    TangentialLaw as TangentialLaw,
)
from .magic_formula import MagicFormula as MagicFormula
from .paths import GroundPath as GroundPath
from .tir_files import read_tir as read_tir, write_tir as write_tir
from .tires import BrushTire as BrushTire, LinearTire as LinearTire, Tire as Tire, TireForces as TireForces
