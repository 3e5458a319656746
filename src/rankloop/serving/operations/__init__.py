"""What operators do with a journal: look, verify, import, export, compact."""

from rankloop.serving.operations.compact import compact
from rankloop.serving.operations.describe import described
from rankloop.serving.operations.export import exported, exported_clicks, scored_as_shown
from rankloop.serving.operations.importing import import_files, import_judged, import_logs
from rankloop.serving.operations.settings import configured
from rankloop.serving.operations.stats import Stats, stats
from rankloop.serving.operations.verify import Verified, verify

__all__ = [
    "Stats",
    "Verified",
    "compact",
    "configured",
    "described",
    "exported",
    "exported_clicks",
    "import_files",
    "import_judged",
    "import_logs",
    "scored_as_shown",
    "stats",
    "verify",
]
