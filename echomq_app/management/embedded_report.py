"""The embedded server's status in words."""

from __future__ import annotations

from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

from echomq_app.runtime.embedded import EmbeddedStatus


def describe(status: EmbeddedStatus) -> str:
    """One line for each known fact, the labels in one column."""
    facts = [
        (_("State"), _("running") if status.running else _("not running")),
        (_("URL"), status.url),
        (_("Folder"), str(status.folder)),
    ]
    if status.pid is not None:
        facts.append((_("Process"), str(status.pid)))
    if status.engine is not None:
        facts.append((_("Engine"), f"{status.engine} {status.version}"))
    if status.uptime is not None:
        facts.append((_("Up for"), str(status.uptime)))
    if status.used_memory is not None:
        facts.append((_("Memory"), filesizeformat(status.used_memory)))
    if status.persistence_ok is not None:
        facts.append((_("On disk"), _("yes") if status.persistence_ok else _("no")))
    if status.problem:
        facts.append((_("Problem"), status.problem))
    width = max(len(label) for label, _value in facts)
    return "\n".join(f"{label:<{width}}  {value}" for label, value in facts)
