"""A campaign of faults against the whole product: kills, damage, fuzzed input, slow text, hostile requests.

`python -m campaign` runs it; docs/campaign.md says what each kind does and what none of them covers.
"""
