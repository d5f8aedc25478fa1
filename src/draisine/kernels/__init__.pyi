"""What type checkers and editors see; at run time names are loaded when first used."""

from draisine.kernels.kernel import Kernel as Kernel, compile as compile, compile_all as compile_all
