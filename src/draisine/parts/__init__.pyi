"""Parts of machines: functions that add a named assembly to a model."""

from .aerodynamic_forces import aerodynamics as aerodynamics
from .catalog import catalog as catalog, replace as replace
from .drives import belt as belt, chain as chain, differential as differential, engine as engine, shaft as shaft
from .forks import (
    leading_link_fork as leading_link_fork,
    rigid_fork as rigid_fork,
    steering_damper as steering_damper,
    telescopic_fork as telescopic_fork,
)
from .frames import flexure as flexure, frame as frame, trailer as trailer
from .record import Part as Part
from .squat_lines import anti_squat as anti_squat
from .assembly import Assembly as Assembly, part as part
from .riders.human import Human as Human
from .riders.rider import rider as rider
from .riders.upper_body import upper_body as upper_body
from .suspensions import shock as shock, strut as strut, swing_arm as swing_arm
from .wheels import brake as brake, wheel as wheel
