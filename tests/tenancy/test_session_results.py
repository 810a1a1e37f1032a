"""A session writes a result file. The results in the session's status are parsed from this file."""

import json

import pytest

from tenancy.sessions.results import OUTPUT_MAX_BYTES, results_from_message


@pytest.mark.parametrize("message", ["", " \n"])
def test_nothing_written_is_no_result(message: str) -> None:
    assert results_from_message(message) is None


def test_result_in_full_is_taken_as_it_is() -> None:
    results = results_from_message('{"outputData": "s3://bucket/key", "metrics": {"tokensUsed": 1234}}')
    assert results is not None
    assert results.model_dump(by_alias=True, exclude_none=True) == {
        "outputData": "s3://bucket/key",
        "metrics": {"tokensUsed": 1234},
    }


@pytest.mark.parametrize("message", ["all went well", "42", '["a"]', '{"answer": 42}', '{"outputData": '])
def test_anything_else_is_output_as_it_stands(message: str) -> None:
    results = results_from_message(message)
    assert results is not None
    assert (results.output_data, results.metrics) == (message, None)


def test_output_that_is_no_text_is_written_as_json() -> None:
    results = results_from_message('{"outputData": {"größe": [1, 2]}}')
    assert results is not None
    assert results.output_data == '{"größe": [1, 2]}'


@pytest.mark.parametrize("tokens", [-1, "many", True, 1.5, None, 2**63])
def test_senseless_count_is_left_out_and_the_rest_counts(tokens: object) -> None:
    results = results_from_message(json.dumps({"outputData": "x", "metrics": {"tokensUsed": tokens}}))
    assert results is not None
    assert (results.output_data, results.metrics) == ("x", None)


@pytest.mark.parametrize("metrics", [None, "none", []])
def test_senseless_metrics_are_left_out(metrics: object) -> None:
    results = results_from_message(json.dumps({"outputData": "x", "metrics": metrics}))
    assert results is not None
    assert results.metrics is None


@pytest.mark.parametrize("is_json", [True, False])
def test_long_output_is_cut_between_characters(is_json: bool) -> None:
    text = "x" + "ö" * OUTPUT_MAX_BYTES
    results = results_from_message(json.dumps({"outputData": text}) if is_json else text)
    assert results is not None
    assert results.output_data is not None
    assert len(results.output_data.encode()) == OUTPUT_MAX_BYTES - 1
    assert text.startswith(results.output_data)


def test_what_is_no_character_harms_nobody() -> None:
    results = results_from_message('{"outputData": "\\ud800"}')
    assert results is not None
    assert results.output_data == "?"
    assert results_from_message("[" * 100_000) is not None
