"""The unmanaged model that carries the permissions; no table is made."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            name="Queue",
            fields=[
                (
                    "name",
                    models.CharField(
                        max_length=128, primary_key=True, serialize=False, verbose_name="name"
                    ),
                ),
            ],
            options={
                "verbose_name": "queue",
                "verbose_name_plural": "queues",
                "permissions": [
                    ("view_queue", "Can view queues and their jobs"),
                    ("pause_queue", "Can pause and resume queues"),
                    ("requeue_job", "Can requeue dead jobs"),
                    ("remove_job", "Can remove jobs"),
                ],
                "managed": False,
                "default_permissions": (),
            },
        ),
    ]
