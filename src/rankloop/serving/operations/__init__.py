"""What operators do with a journal: look, verify, import, export, compact."""

from rankloop.serving.operations.backup import backup, restore
from rankloop.serving.operations.compact import compact
from rankloop.serving.operations.export import export_clicks, export_queries, score_as_shown
from rankloop.serving.operations.importing import import_files, import_judged, import_logs
from rankloop.serving.operations.quarantine import quarantine, retry
from rankloop.serving.operations.settings import configure
from rankloop.serving.operations.stats import Stats, describe, stats
from rankloop.serving.operations.verify import Verification, verify

__all__ = [
    "Stats",
    "Verification",
    "backup",
    "compact",
    "configure",
    "describe",
    "export_clicks",
    "export_queries",
    "import_files",
    "import_judged",
    "import_logs",
    "quarantine",
    "restore",
    "retry",
    "score_as_shown",
    "stats",
    "verify",
]
