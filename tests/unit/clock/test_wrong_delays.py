"""Wrong delays are refused, each fault by a sentence that names its key, and nothing else is ever raised."""

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from hiermo import UserError
from hiermo.clock.delays import KEYS, load_delays, parse_delays


def refused(table):
    """The sentences of a refusal."""
    with pytest.raises(UserError) as error:
        parse_delays(table)
    return str(error.value).splitlines()


WRONG = [
    ({"theta_x": 1.0}, "delays.theta_x is not a key of [delays]; did you mean 'theta_"),
    ({"theta_w": -1.0}, "delays.theta_w must be a number of seconds of at least 0, or a distribution, not -1.0"),
    ({"theta_w": float("nan")}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": float("inf")}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": 10**400}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": True}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": "1"}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": [1.0]}, "delays.theta_w must be a number of seconds"),
    ({"theta_w": {}}, "delays.theta_w.kind is missing: name one of constant, lognormal"),
    ({"theta_w": {"kind": "logormal"}}, "delays.theta_w.kind must not be 'logormal'; did you mean 'lognormal'?"),
    ({"theta_w": {"kind": ["gamma"]}}, "delays.theta_w.kind must not be ['gamma']"),
    ({"theta_w": {"latency_s": 1.0}}, "delays.theta_w.kind is missing"),
    ({"phi_w2e": {"kind": "speed", "flops_per_s": 1.0}}, "delays.phi_w2e.kind must not be 'speed'"),
    ({"phi_e2c": {"kind": "lognormal", "mean": -1.0, "cv": 1.0}}, "delays.phi_e2c.mean must be above 0, not -1.0"),
    ({"phi_e2c": {"kind": "lognormal", "mean": 1.0, "cv": -1}}, "delays.phi_e2c.cv must be in [0, 1000], not -1"),
    ({"phi_e2c": {"kind": "lognormal", "mean": 1.0}}, "delays.phi_e2c: a lognormal needs mean or median, and cv"),
    ({"phi_e2c": {"kind": "lognormal", "mean": 1.0, "median": 1.0, "cv": 1.0}}, "needs mean or median"),
    ({"phi_e2c": {"kind": "lognormal", "mean": 1.0, "cv": 1.0, "sigma": 1.0}}, "needs mean or median"),
    ({"theta_w": {"kind": "lognormal", "mean": 1.0, "sigma": 40.0}}, "delays.theta_w.sigma must be in [0, 3.7]"),
    ({"theta_w": {"kind": "lognormal", "median": 1e308, "cv": 900.0}}, "delays.theta_w: median = 1e+308 makes a mean"),
    ({"theta_w": {"kind": "gamma", "mean": 1.0}}, "delays.theta_w.cv is missing: a gamma needs it"),
    ({"theta_w": {"kind": "gamma", "mean": 1.0, "cv": 31}}, "delays.theta_w.cv must be in [0, 30], not 31"),
    ({"theta_w": {"kind": "gamma", "mean": 10**400, "cv": 1}}, "delays.theta_w.mean must be"),
    ({"theta_w": {"kind": "gamma", "mean": 1.0, "cv": 1.0, "sd": 1}}, "delays.theta_w.sd is not a key of a gamma"),
    ({"theta_w": {"kind": "shifted_exponential"}}, "delays.theta_w.mean is missing: a shifted_exponential needs it"),
    (
        {"theta_w": {"kind": "shifted_exponential", "shift": 2, "mean": 1}},
        "delays.theta_w: mean = 1 is less than shift = 2",
    ),
    ({"theta_w": {"kind": "samples", "seconds": []}}, "delays.theta_w: there is no sample"),
    ({"theta_w": {"kind": "samples", "seconds": 3.0}}, "delays.theta_w.seconds must be a list, not 3.0"),
    ({"theta_w": {"kind": "samples", "seconds": [1, -2]}}, "delays.theta_w.seconds must be at least 0, not -2"),
    ({"theta_w": {"kind": "samples", "seconds": [1, 10**400]}}, "delays.theta_w.seconds must be"),
    ({"theta_w": {"kind": "speed"}}, "delays.theta_w.flops_per_s is missing: a speed needs it"),
    ({"theta_w": {"kind": "speed", "flops_per_s": 0}}, "delays.theta_w.flops_per_s must be above 0, not 0"),
    ({"theta_w": {"kind": "speed", "flops_per_s": 1, "cv": 1e9}}, "delays.theta_w.cv must be in [0, 1000]"),
    ({"phi_w2e": {"latency": 1.0}}, "delays.phi_w2e.latency is not a key of a link; did you mean 'latency_s'?"),
    ({"phi_w2e": {"latency_s": -1.0}}, "delays.phi_w2e.latency_s must be a number of seconds of at least 0"),
    ({"phi_w2e": {"bandwidth": 0}}, "delays.phi_w2e.bandwidth must be above 0: it is in bytes per second"),
    ({"phi_w2e": {"bandwidth": 5e-324}}, "delays.phi_w2e.bandwidth must be above 0"),
    ({"phi_w2e": {"bandwidth": -3}}, "delays.phi_w2e.bandwidth must be a number of bytes per second of at least 0"),
    ({"phi_w2e": {"bandwidth": {"kind": "samples", "seconds": [1, 0]}}}, "delays.phi_w2e.bandwidth must be above 0"),
    ({"phi_w2e": {"up_bandwidth": {"kind": "gamma", "mean": 1, "cv": 1}}}, "delays.phi_w2e.up_bandwidth comes so near"),
    ({"phi_w2e": {"bandwidth": {"kind": "shifted_exponential", "mean": 1}}}, "delays.phi_w2e.bandwidth comes so near"),
    ({"phi_w2e": {"down_bandwidth": {"kind": "gamma", "mean": 1}}}, "delays.phi_w2e.down_bandwidth.cv is missing"),
    ({"phi_w2e": {"up_s": 1.0, "up_bandwidth": 1.0}}, "delays.phi_w2e: up_s is a delay as such: it goes"),
    ({"phi_w2e": {"up_s": 1, "down_s": 1, "latency_s": "x"}}, "delays.phi_w2e.latency_s must be a number of seconds"),
    ({"phi_w2e": {"up_bandwidth": 1, "down_bandwidth": 1, "bandwidth": 0}}, "delays.phi_w2e.bandwidth must be above 0"),
    ({"phi_w2e": {"shared": True}}, "delays.phi_w2e.shared needs a bandwidth that is a number"),
    ({"phi_w2e": {"shared": "both", "bandwidth": 1.0}}, "delays.phi_w2e.shared must be"),
    (
        {"phi_w2e": {"shared": "up", "up_bandwidth": {"kind": "gamma", "mean": 1, "cv": 0.1}}},
        "delays.phi_w2e.shared needs a bandwidth that is a number",
    ),
    ({"device": {"compute": 1.0}}, "delays.device must be tables, each as [[delays.device]]"),
    ({"device": [1.0]}, "delays.device must be tables, each as [[delays.device]]"),
    ({"device": [{"speed": 1.0}]}, "delays.device.0.speed is not a key of a device"),
    ({"device": [{"name": "phone", "computes": 1.0}]}, "delays.device.phone.computes is not a key of a device"),
    ({"device": [{}, {"compute": -1.0}]}, "delays.device.1.compute must be a number of seconds"),
    ({"device": [{"name": 7, "compute": 1.0}]}, "delays.device.0.name must be a text, not 7"),
    ({"device": [{"name": "phone", "link": {"latency": 1}}]}, "delays.device.phone.link.latency is not a key"),
    ({"device": [{"cloud_link": "fast"}]}, "delays.device.0.cloud_link must be a number of seconds"),
    ({"device": [{"nodes": "worker 1"}]}, "delays.device.0.nodes: write 'worker', 'worker 3'"),
    ({"device": [{"nodes": 5}]}, "delays.device.0.nodes: write"),
    ({"device": [{"nodes": [5]}]}, "delays.device.0.nodes: write"),
    ({"device": [{"nodes": ["phone"]}]}, "delays.device.0.nodes: write 'worker', 'worker 3'"),
    ({"profile": "papr"}, "delays.profile: there is no profile 'papr'; did you mean 'paper'?"),
    ({"profile": 3}, "delays.profile must be a text, not 3"),
    ({"name": 3}, "delays.name must be a text, not 3"),
    ({"description": []}, "delays.description must be a text, not []"),
    ({"sha256": "ab"}, "delays.sha256 goes with delays.trace"),
    ({"trace": 5}, "delays.trace must be a text, not 5"),
    ({"trace": "nowhere.csv"}, "delays.trace: there is no file nowhere.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "told"), WRONG, ids=str)
def test_what_is_wrong_is_told_with_its_key(table, told):
    found = refused(table)
    assert any(told in line for line in found), found


@pytest.mark.parametrize("raw", [None, 3, "paper", [1], True])
def test_delays_are_a_table(raw):
    with pytest.raises(UserError, match="delays must be a table, not "):
        parse_delays(raw)


def test_all_that_is_wrong_is_told_at_once():
    table = {
        "name": 1,
        "theta_q": 1.0,
        "profile": "nobody's",
        "trace": "nowhere.csv",
        "theta_w": -1,
        "phi_w2e": {"latency_s": "x", "bandwidth": 0, "up_s": -1},
        "theta_e": {"kind": "gamma", "mean": -1, "cv": -1},
        "device": [{"nodes": ["x"], "compute": "y", "color": 1}, {"compute": "z"}],
    }
    keys = [
        "delays.theta_q", "delays.name", "delays.profile", "delays.trace", "delays.device.0.color",
        "delays.device.0.nodes", "delays.theta_w", "delays.theta_e.mean", "delays.theta_e.cv",
        "delays.phi_w2e.latency_s", "delays.phi_w2e.bandwidth", "delays.phi_w2e.up_s", "delays.device.0.compute",
        "delays.device.1.compute",
    ]  # fmt: skip
    found = refused(table)
    assert sorted(line.replace(":", " ").split()[0] for line in found) == sorted(keys)


def test_a_wrong_device_beside_a_trace_is_told_too(tmp_path):
    (tmp_path / "trace.csv").write_text("node,kind,seconds\nphone,compute,1\n")
    trace = str(tmp_path / "trace.csv")
    for device in ({"nodes": 5}, {"nodes": [5]}, {"name": ["phone"]}, {"name": {}}):
        assert "delays.device.0" in refused({"trace": trace, "device": [device]})[0]


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(10**307, 10**310), st.floats(), st.text(max_size=9),
    st.just(date(2026, 1, 1)),
    st.sampled_from(["worker 3", "edges 0-2", "tier 9", "gamma", "lognormal", "up", "paper"]),
)  # fmt: skip
words = st.sampled_from(
    [
        *KEYS, "kind", "mean", "median", "cv", "sigma", "shift", "seconds", "flops_per_s", "latency_s", "bandwidth",
        "up_bandwidth", "down_bandwidth", "up_s", "down_s", "shared", "nodes", "compute", "link", "cloud_link",
    ]
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(words, st.text(max_size=5)), inner, max_size=5)
    ),
    max_leaves=12,
)
positive = st.one_of(st.floats(0), st.integers(0, 10**309), scalars)
distributions = st.one_of(
    positive,
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["constant", "lognormal", "gamma", "shifted_exponential", "samples", "speed"])},
        optional={
            **dict.fromkeys(["mean", "median", "cv", "sigma", "shift", "flops_per_s"], positive),
            "seconds": st.one_of(positive, st.lists(positive, max_size=3)),
        },
    ),
)
link_keys = ["latency_s", "bandwidth", "up_bandwidth", "down_bandwidth", "up_s", "down_s"]
some_links = st.one_of(
    distributions, st.fixed_dictionaries({}, optional={**dict.fromkeys(link_keys, distributions), "shared": scalars})
)
near = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["theta_w", "theta_e", "theta_c"], distributions),
        **dict.fromkeys(["phi_w2e", "phi_e2c", "phi_w2c"], some_links),
        "device": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "name": scalars,
                    "nodes": st.one_of(scalars, st.lists(scalars, max_size=2)),
                    "compute": distributions,
                    "link": some_links,
                    "cloud_link": values,
                },
            ),
            max_size=3,
        ),
    },
)


@settings(max_examples=300)
@given(st.one_of(values, st.dictionaries(words, values, max_size=6), near))
def test_whatever_a_table_says_it_is_understood_or_refused(raw):
    try:
        delays = parse_delays(raw)
    except UserError as error:
        assert str(error).startswith("delays")
        return
    again = parse_delays(delays.table)  # what a run writes down
    assert [rule.nodes for rule in again.rules] == [rule.nodes for rule in delays.rules]
    assert str(delays)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"theta_w = ", "not valid TOML"),
        (b"theta_w = " + b"9" * 5000, "not valid TOML"),
        (b"\xff\xfe", "cannot be read"),
        (b"theta_w = -1\ntheta_e = -2", "delays.theta_w must be"),
        (b"delays = 3", "delays must be a table, not 3"),
        (b"trace = 'nowhere.csv'", "delays.trace: there is no file nowhere.csv"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_name(tmp_path, text, told):
    path = tmp_path / "delays.toml"
    path.write_bytes(text)
    with pytest.raises(UserError) as error:
        load_delays(str(path))
    assert told in str(error.value)
    assert all(line.startswith(str(path)) for line in str(error.value).splitlines())


def test_a_name_that_is_neither_a_file_nor_a_profile_is_refused(tmp_path):
    with pytest.raises(
        UserError, match="--delays papr: there is no such file, nor a built-in profile; did you mean 'p"
    ):
        load_delays("papr")
    with pytest.raises(UserError, match="there is no such file"):
        load_delays(str(tmp_path))
