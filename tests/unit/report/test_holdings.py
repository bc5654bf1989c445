"""Who holds what, as a table, in words, as JSON and as a picture."""

from itertools import pairwise
import json

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import QuadMesh
import numpy as np
import pytest
from rich.console import Console

from hiermo.report.holdings import Holdings, holdings_table, in_words
from hiermo.report.holdings_picture import draw_holdings, holdings_figure
from hiermo.topology.tree import Tree

COUNTS = np.array([[30, 0, 0], [10, 20, 0], [0, 0, 60], [5, 5, 5]])
TREE = Tree.from_groups([[0, 3], [1, 2]])
NAMES = ("cat", "dog", "limousine, limo")


def held(counts=COUNTS, tree=TREE, names=()):
    return Holdings(np.asarray(counts), tree, "toys divided by hand: $_$ and so on", names)


def many(workers, classes, edges):
    counts = np.random.default_rng(0).poisson(20, (workers, classes)) * (np.arange(workers)[:, None] % 3 > 0)
    counts[:, 0] += 1
    return held(counts, Tree.regular(edges=edges, workers_per_edge=workers // edges))


def printed(table, width=100):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_row_per_holder():
    assert [line.split() for line in printed(holdings_table(held()))] == [
        ["samples", "0", "1", "2"],
        ["all", "135", "45", "25", "65"],
        ["edge", "0", "45", "35", "5", "5"],
        ["worker", "0", "30", "30", ".", "."],
        ["worker", "3", "15", "5", "5", "5"],
        ["edge", "1", "90", "10", "20", "60"],
        ["worker", "1", "30", "10", "20", "."],
        ["worker", "2", "60", ".", ".", "60"],
    ]


def test_classes_are_named_below():
    below = printed(holdings_table(held(names=NAMES)))[8:]
    assert " ".join(" ".join(below).split()) == "classes: 0 cat, 1 dog, 2 limousine"


def test_workers_without_edges():
    lines = printed(holdings_table(held(tree=Tree.branching(4))))
    assert [line.split()[0] for line in lines[1:]] == ["all", *["worker"] * 4]
    assert not any("edge" in line for line in printed(in_words(held(tree=Tree.branching(4)))))


def test_edges_of_one_node_are_side_by_side():
    tree = Tree.from_parents((0, 1, 2, 3), (0, 1, 0, 1), (0, 0))
    assert [block[0].name for block in held(tree=tree).blocks()] == ["all", "edge 0", "edge 2", "edge 1", "edge 3"]


@pytest.mark.parametrize(("classes", "width"), [(21, 1000), (10, 40)])
def test_many_classes_are_summed_up(classes, width):
    counts = np.zeros((2, classes), int)
    counts[0, [2, 3, 4, 5]] = [1, 5, 3, 1]
    counts[1, 0] = 7
    lines = printed(holdings_table(held(counts, Tree.branching(2)), width))
    assert lines[0].split() == ["samples", "classes", "most", "of"]
    assert lines[2].split(maxsplit=4) == ["worker", "0", "10", "4", "3 (50 %), 4 (30 %), 2 (10 %)"]
    assert lines[3].split(maxsplit=4) == ["worker", "1", "7", "1", "0 (100 %)"]


def test_nothing_is_cut_off_where_it_fits():
    """The widest table that is shown in full."""
    shown = held(np.full((12, 10), 12345), Tree.branching(3, 4))
    width = next(w for w in range(60, 120) if "classes" not in printed(holdings_table(shown, w), 200)[0])
    lines = printed(holdings_table(shown, width), width)
    assert len(lines) == 2 + 3 + 12
    assert lines[-1].split() == ["worker", "11", "123450", *["12345"] * 10]


def test_numbers_in_words():
    lines = printed(in_words(held()), 80)
    assert lines[0].startswith("worker to all data")
    found = held().heterogeneity
    for line, values in zip(lines, (found.worker_to_all, found.worker_to_edge, found.edge_to_all), strict=False):
        assert f"{values.mean:.2f} ({values.low:.2f} to {values.high:.2f})" in line
    assert "of 3, were they held equally" in lines[3]
    assert "4.00 to 1" in lines[4]
    assert "± 48 %" in lines[4]  # 30, 30, 60, 15: deviation 16.3 of 33.75
    assert max(map(len, lines)) <= 80


def test_json_says_it_all():
    told = json.loads(json.dumps(held(names=NAMES).json()))
    assert told["classes"] == list(NAMES)
    assert told["samples"] == 135
    assert told["workers"][3] == {"worker": 3, "edge": 0, "samples": 15, "counts": [5, 5, 5]}
    assert told["edges"][1] == {"edge": 1, "workers": [1, 2], "samples": 90, "counts": [10, 20, 60]}
    assert told["heterogeneity"]["largest_to_smallest"] == 4
    flat = held(tree=Tree.branching(4)).json()
    assert flat["classes"] == ["0", "1", "2"]
    assert flat["edges"] == []
    assert flat["workers"][0]["edge"] is flat["heterogeneity"]["edge_to_all"] is None


def strips(axes):
    """The shares of every holder, whichever way its strip runs; and where the strips begin and end."""
    meshes = [mesh for mesh in axes.collections if isinstance(mesh, QuadMesh)]
    upright = meshes[0].get_array().shape[1] == 1
    shares = [row for mesh in meshes for row in (mesh.get_array().T if upright else mesh.get_array())]
    ends = [mesh.get_coordinates()[0, :, 0] if upright else mesh.get_coordinates()[:, 0, 1] for mesh in meshes]
    return upright, shares, ends


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_the_picture_of_a_small_tree():
    cells, sizes, scale = (figure := holdings_figure(held(names=NAMES))).axes
    _, found, _ = strips(cells)
    rows = [[45, 25, 65], [35, 5, 5], [30, 0, 0], [5, 5, 5], [10, 20, 60], [10, 20, 0], [0, 0, 60]]
    for strip, row in zip(found, rows, strict=True):
        np.testing.assert_allclose(strip.filled(0), np.array(row) / sum(row))
        assert np.ma.getmaskarray(strip).tolist() == [n == 0 for n in row]  # nothing is not the lightest of shades
    assert texts(cells) == [str(n) for row in rows for n in row if n] + ["edge 0", "edge 1"]
    assert [tick.get_text() for tick in cells.get_xticklabels()] == ["cat", "dog", "limousine"]
    rows = {tick.get_text() for tick in cells.get_yticklabels()}
    assert rows == {"all", "sum", "worker 0", "worker 1", "worker 2", "worker 3"}
    assert [bar.get_width() for bar in sizes.patches] == [30, 15, 30, 60]
    assert texts(sizes) == ["135", "45", "30", "15", "90", "30", "60"]
    assert scale.get_ylabel() == "share of its samples"
    heading = [text.get_text() for text in figure.texts]
    assert heading[0] == r"toys divided by hand: \$_\$ and so on"
    assert heading[1].startswith("label distance to all data")


@pytest.mark.parametrize(
    ("workers", "classes", "edges", "upright", "numbers"),
    [(100, 10, 10, True, False), (20, 200, 4, False, False), (30, 6, 5, True, True), (1000, 10, 20, True, False)],
)
def test_large_pictures(workers, classes, edges, upright, numbers):
    cells, sizes, _ = (figure := holdings_figure(many(workers, classes, edges))).axes
    standing, shares, _ = strips(cells)
    assert standing == upright
    assert np.array(shares).shape == (1 + edges + workers, classes)
    assert len(sizes.patches) == workers
    written = texts(cells)
    assert any(text.isdigit() for text in written) == numbers
    assert [text for text in written if text.startswith("edge")] == [f"edge {k}" for k in range(edges)]
    assert figure.get_figwidth() < 27
    assert figure.get_figheight() < 12
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axis in (cells.xaxis, cells.yaxis):
        vertical = axis is cells.yaxis
        boxes = [tick.get_window_extent(renderer) for tick in axis.get_ticklabels()]
        ends = sorted((box.y0, box.y1) if vertical else (box.x0, box.x1) for box in boxes)
        assert all(after[0] >= before[1] - 1 for before, after in pairwise(ends))  # none on another


@pytest.mark.parametrize("shown", [held(names=NAMES), many(100, 10, 10), many(20, 200, 4), many(2, 2, 1)])
def test_nothing_is_drawn_beyond_the_paper(shown):
    figure = holdings_figure(shown)
    box = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.get_figwidth()
    assert box.y1 <= figure.get_figheight()


def test_gaps_between_edges_and_wider_ones_between_their_nodes():
    tree = Tree.branching(2, 2, 1)
    _, _, ends = strips(holdings_figure(held(tree=tree)).axes[0])  # all; then an edge and its worker, four times
    gaps = [after[0] - before[-1] for before, after in pairwise(ends)]
    under, between, nodes = gaps[1], gaps[2], gaps[4]
    assert 0 < 2 * under < between
    assert nodes == pytest.approx(2 * between)
    assert gaps == pytest.approx([between, under, between, under, nodes, under, between, under])


def test_an_even_division_is_not_dark():
    assert holdings_figure(held(np.full((4, 10), 9))).axes[0].collections[0].norm.vmax == pytest.approx(0.3)
    assert holdings_figure(held(np.eye(4, dtype=int))).axes[0].collections[0].norm.vmax == 1


def test_it_is_written_as_a_png(tmp_path):
    content = draw_holdings(held(), tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
