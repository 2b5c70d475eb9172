"""The method of a study: as it was asked for, or else the one that the study has been run with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from calibo.classifiers.composite import Outer
from calibo.errors import StudyError
from calibo.optimize import Strategy
from calibo.optimize.composite import Composite, composed, default_method
from calibo.study.attributes import read_description, read_suggestion
from calibo.trials import Direction


@dataclass(frozen=True)
class StudyMethod:
    """A strategy with the name under which a study stores it.

    Attributes:
        name: Name of the method, ``None`` for a strategy that was given itself.
        strategy: The strategy.
        composite: Known function of a composite objective in the user's sign, or ``None``.
    """

    name: str | None
    strategy: Strategy
    composite: Outer | None = None

    @classmethod
    def of(cls, method: str | Strategy, composite: Outer | None = None) -> StudyMethod:
        """Return the method of a name, or of a strategy."""
        from calibo.methods import method_name, strategy

        return cls(method_name(method) if isinstance(method, str) else None, strategy(method), composite)

    def with_directions(self, directions: Sequence[Direction]) -> tuple[StudyMethod, Composite | None]:
        """Return the method for objectives with these directions, and the function of a composite objective."""
        strategy, function = composed(self.strategy, self.composite, directions)
        return StudyMethod(self.name, strategy), function


def method_for(
    study: optuna.Study | None,
    method: str | Strategy | None,
    composite: Outer | None = None,
    *,
    trials: Sequence[FrozenTrial] | None = None,
) -> StudyMethod:
    """Return the method asked for, or else the study's own; for a new study "auto".

    With a composite function it is "composite_lfbo". ``trials`` are those of the study, if they have been read already.

    Raises:
        StudyError: If the study's own method is a strategy that has no name, so that it has to be given again.
    """
    if method is None and composite is None and study is not None:
        known, method = own_method(study, read_description(study) or {}, trials)
        if known and method is None:
            raise StudyError(
                f"study {study.study_name!r} was made with a strategy that cannot be restored from its storage: pass the "
                "same strategy as method=, or the name of a method (such as 'auto') to go on with that"
            )
    return StudyMethod.of(default_method(method, composite), composite)


def own_method(
    study: optuna.Study, description: Mapping[str, Any], trials: Sequence[FrozenTrial] | None = None
) -> tuple[bool, str | None]:
    """Return whether a study has a method of its own, and the name of that method.

    It is the method of the latest suggestion, or else the one that the study was created with. A method without a name
    is a strategy that was given itself.
    """
    for trial in reversed(study.get_trials(deepcopy=False) if trials is None else trials):
        if (suggestion := read_suggestion(trial)) is not None:
            return True, suggestion.method
    return "method" in description, description.get("method")
