"""The table of metrics is that of the code."""

from __future__ import annotations

from tests.docs.metrics_table import PAGE, all_metrics, written


def test_the_page_lists_every_metric_as_the_code_defines_it() -> None:
    page = PAGE.read_text()
    assert written(page) == page, "run python -m tests.docs.metrics_table"


def test_names_are_unique_and_labels_name_no_user_app_or_session() -> None:
    metrics = all_metrics()
    assert len({each.prometheus_name for each in metrics}) == len(metrics) > 20
    labels = {label for each in metrics for label in each.labels}
    assert not [label for label in labels if any(word in label for word in ("user", "app", "session", "tenant"))]
