"""What type checkers and editors see; at run time names are loaded when first used."""

from draisine.model.errors import ModelError as ModelError
from draisine.model.items import GROUND as GROUND, System as System
from draisine.model.model import Model as Model
