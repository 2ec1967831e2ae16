"""What rules, signals and checks mean, in plain words; whoever draws a report hands it in."""

import msgspec


class Advice(msgspec.Struct, frozen=True):
    """Why a rule matters, and what would be better."""

    why: str = ""
    instead: str = ""


_NO_ADVICE = Advice()


class Glossary(msgspec.Struct, frozen=True):
    """The words for what a report names. Whatever is not in it is shown by its name alone."""

    advice: dict[tuple[str, str], Advice] = {}  # (language, rule id)
    signals: dict[str, str] = {}  # name -> title
    checks: dict[str, str] = {}  # name -> title
    read_by: dict[str, str] = {}  # signal -> the check that reads it
    rules_hash: str = ""

    def advice_on(self, language: str, rule: str) -> Advice:
        return self.advice.get((language, rule), _NO_ADVICE)

    def reads(self, check: str, signal: str) -> bool:
        """Whether a check decides by a signal; of an unknown signal nobody can tell, so it may."""
        return self.read_by.get(signal, check) == check
