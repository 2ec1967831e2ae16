"""All kinds by name, in the order of the table."""

from campaign import (
    eval_kills,
    growth,
    inputs,
    journal_damage,
    judge_faults,
    judge_kills,
    native_reader,
    outputs,
    random_rules,
    random_tables,
    requests,
    serve_kills,
)
from campaign.tally import Kind

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        judge_kills.KIND,
        eval_kills.EVAL,
        eval_kills.TABLE,
        serve_kills.KIND,
        journal_damage.KIND,
        judge_faults.KIND,
        inputs.KIND,
        growth.KIND,
        random_rules.KIND,
        native_reader.KIND,
        random_tables.KIND,
        outputs.KIND,
        requests.KIND,
    )
}
