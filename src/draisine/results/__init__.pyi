"""What type checkers and editors see; at run time names are loaded when first used."""

from draisine.results.channel import Channel as Channel, Group as Group
from draisine.results.files import TrajectoryFileError as TrajectoryFileError, load as load, save as save
from draisine.results.status import Ending as Ending, Status as Status
from draisine.results.trajectory import (
    Occurrence as Occurrence,
    Segment as Segment,
    Statistics as Statistics,
    Trajectory as Trajectory,
    UnknownChannel as UnknownChannel,
)
