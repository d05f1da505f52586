import math

from hypothesis import given
from hypothesis import strategies as st

from repro.model import canonical, number

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(blacklist_categories=("Cs",))),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(blacklist_categories=("Cs",))), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(st.characters(blacklist_categories=("Cs",))), _JSON))
def test_the_order_of_keys_does_not_matter(value: dict[str, object]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical.encode(value) == canonical.encode(backwards)
    assert canonical.digest(value) == canonical.digest(backwards)


@given(st.floats())
def test_a_float_survives_the_border(value: float) -> None:
    back = number.from_text(number.to_text(value))
    assert back == value or (math.isnan(back) and math.isnan(value))
    assert math.copysign(1, back) == math.copysign(1, value) or math.isnan(value)
