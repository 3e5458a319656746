"""What `rankloop.distributed` offers."""

from .cluster import connect as connect
from .evaluation import evaluate as evaluate
from .fitting import fit as fit
from .parts import Parts as Parts
from .prediction import predict as predict

__all__: list[str]
