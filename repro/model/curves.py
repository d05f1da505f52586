"""What a report shows beside a verdict: how both runs went step by step, ready to be drawn."""

from repro.model.record import Record


class Line(Record, kw_only=True):
    """A quantity over steps, thinned to what can be drawn.

    Attributes:
        steps: first step of each stretch, ascending; low, high: smallest and largest finite value in it.
        count: values that it was made of. broken: first step whose value is NaN or infinite.
    """

    steps: list[int] = []
    low: list[float] = []
    high: list[float] = []
    count: int = 0
    broken: int | None = None


class Usage(Record, kw_only=True):
    """Time and memory of one run; None where it was not recorded.

    Attributes:
        seconds: from start to end. step_seconds: median of a step.
        share: part of the time that the recorder itself took, 0 to 1.
    """

    steps: int | None = None
    seconds: float | None = None
    step_seconds: float | None = None
    share: float | None = None
    host_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None


class Curves(Record, kw_only=True):
    """Curves of run a and run b, and of the noise members of a.

    Attributes:
        part: which process and training is drawn, where there are several.
        loss, step_seconds: of a and of b. gap: |loss of b - loss of a| over the larger of the two.
        distance: relative distance of the weights of b from those of a. members: the same of each member.
    """

    part: str = ""
    loss: tuple[Line, Line] = (Line(), Line())
    gap: Line = Line()
    distance: Line = Line()
    members: list[Line] = []
    step_seconds: tuple[Line, Line] = (Line(), Line())
    usage: tuple[Usage, Usage] = (Usage(), Usage())
