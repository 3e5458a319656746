"""What `rankloop.distributed` offers; read by `lazily`."""

from rankloop.distributed.cluster import connect as connect
from rankloop.distributed.evaluation import evaluate as evaluate
from rankloop.distributed.fitting import fit as fit
from rankloop.distributed.parts import Parts as Parts

__all__: list[str]
