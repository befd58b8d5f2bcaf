"""Figure of the way of a trial, drawn for the contributing guide."""

import xml.etree.ElementTree as ET

import trial_way


def test_the_figure_shows_all_records_in_order():
    steps = trial_way.way_of_a_trial()
    records = [step.record for step in steps]
    assert set(records) == {kind.__name__ for kind in trial_way.RECORDS} | {records[-1]}
    order = [
        "Job",
        "Configuration",
        "Fold",
        "FoldResult",
        "Trial",
        "row of cv_results_",
    ]
    assert [record for record in records if record in order] == order
    assert [step.record for step in steps if step.is_in_worker] == ["FoldResult"]
    texts = [text.text for text in ET.fromstring(trial_way.figure(steps)).iter()]
    assert all(step.summary in texts for step in steps)
