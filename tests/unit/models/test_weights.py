"""Weights to start from: what fits, what is left out, and what is wrong with a file, in one sentence."""

import pytest
from safetensors.torch import save_file, save_model
import torch
from torch import nn

from hiermo import UserError
from hiermo.models.resnet import ResNet18
from hiermo.models.weights import load_weights


def net(classes=3):
    return nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Linear(5, classes))


@pytest.fixture
def trained():
    """With statistics of its own."""
    module = net()
    module(torch.randn(8, 4))
    return module


@pytest.fixture
def file(tmp_path, trained):
    path = tmp_path / "start.safetensors"
    save_file(trained.state_dict(), path)
    return path


def changed(file, tensors, without=(), **more):
    save_file({name: value for name, value in tensors.items() if name not in without} | more, file)


def test_all_of_it(file, trained):
    module = net()
    assert load_weights(module, file) is module
    expected = trained.state_dict()
    assert expected["1.num_batches_tracked"] == 1
    assert not torch.equal(expected["1.running_var"], torch.ones(5))
    for name, value in module.state_dict().items():
        assert torch.equal(value, expected[name]), name
    assert all(p.requires_grad and p.grad is None for p in module.parameters())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_in_the_types_of_the_module(file, trained, dtype):
    save_file({name: v.to(dtype) if v.is_floating_point() else v for name, v in trained.state_dict().items()}, file)
    module = load_weights(net(), file)
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    assert torch.equal(module[0].weight, trained[0].weight.to(dtype).float())


def test_a_module_of_double_precision(file, trained):
    module = load_weights(net().double(), file)
    assert module[0].weight.dtype == torch.float64
    assert torch.equal(module[0].weight, trained[0].weight.double())


def test_without_the_count_of_batches(file, trained):
    changed(file, trained.state_dict(), without=["1.num_batches_tracked"])
    module = load_weights(net(), file)
    assert module[1].num_batches_tracked == 0
    assert torch.equal(module[1].running_mean, trained[1].running_mean)


def test_what_is_skipped_keeps_its_start(file, trained):
    module = net(classes=7)
    before = module[2].weight.detach().clone()
    load_weights(module, str(file), skip=["2.*"])
    assert torch.equal(module[2].weight, before)
    assert torch.equal(module[0].weight, trained[0].weight)


def test_a_skipped_tensor_may_be_in_the_file_alone_or_in_the_model_alone(file, trained):
    changed(file, trained.state_dict(), without=["2.bias"], head=torch.ones(2))
    module = net()
    before = module[2].bias.detach().clone()
    load_weights(module, file, skip=["head", "2.bias"])
    assert torch.equal(module[2].bias, before)
    assert torch.equal(module[2].weight, trained[2].weight)


def test_the_usual_weights_of_a_resnet_with_another_last_layer(tmp_path):
    file = tmp_path / "resnet18.safetensors"
    imagenet = ResNet18(stem="imagenet").build((3, 64, 64), 1000)
    save_file(imagenet.state_dict(), file)
    model = ResNet18(stem="imagenet").build((3, 64, 64), 200)
    with pytest.raises(UserError, match=r'shape or type: fc\.bias, fc\.weight\); .* model.skip = \["fc\.\*"\]'):
        load_weights(model, file)
    load_weights(model, file, skip=["fc.*"])
    assert torch.equal(model.layer4[1].conv2.weight, imagenet.layer4[1].conv2.weight)


def tied():
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    return module


def test_a_tied_tensor_may_be_there_once(tmp_path):
    file, one, other = tmp_path / "tied.safetensors", tied(), tied()
    save_model(one, str(file))
    load_weights(other, file)
    assert torch.equal(other[1].weight, one[0].weight)
    assert other[1].weight is other[0].weight


def untouched(module, file, skip=()):
    """The sentence of the refusal; the module is as it was."""
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with pytest.raises(UserError) as error:
        load_weights(module, file, skip)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    return str(error.value)


def test_everything_that_disagrees_is_named_at_once(file, trained):
    changed(file, trained.state_dict(), without=["0.bias"], head=torch.ones(2), **{"2.weight": torch.ones(7, 5)})
    assert untouched(net(), file) == (
        f'model.weights = "{file}" is not of this model (it lacks: 0.bias; it has more: head; '
        "of another shape or type: 2.weight); to keep the initial values of some, name them, as in "
        'model.skip = ["0.*", "head", "2.*"]'
    )


def test_of_many_the_first_few_are_named(file, trained):
    changed(file, trained.state_dict(), **{f"more.{k}": torch.ones(1) for k in range(9)})
    assert "it has more: more.0, more.1, more.2, more.3 and 5 more" in untouched(net(), file)


def test_statistics_that_are_missing_are_named(file, trained):
    changed(file, trained.state_dict(), without=["1.running_mean", "1.running_var"])
    assert "it lacks: 1.running_mean, 1.running_var" in untouched(net(), file)


def test_whole_numbers_are_not_weights(file, trained):
    changed(file, trained.state_dict(), **{"2.bias": torch.ones(3, dtype=torch.int8)})
    assert "of another shape or type: 2.bias" in untouched(net(), file)


def test_another_model(file):
    sentence = untouched(nn.ModuleDict({"a": nn.Linear(1, 1)}), file)
    assert (
        "is not of this model: it has 0.bias, 0.weight, 1.bias, 1.num_batches_tracked and 5 more, the model" in sentence
    )
    assert sentence.endswith("the model has a.weight, a.bias")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e300])
def test_numbers_that_are_not_finite(file, trained, number):
    """1e300 is finite in its file and not in the module."""
    wrong = torch.tensor([1.0, number, 1.0], dtype=torch.float64)
    changed(file, trained.state_dict(), **{"2.bias": wrong})
    assert untouched(net(), file).endswith('.safetensors": there are numbers that are not finite in 2.bias')


def test_a_pattern_that_matches_nothing(file):
    assert untouched(net(), file, skip=["fc.*"]) == (
        "model.skip: 'fc.*' matches no tensor of the model, which has 0.weight, 0.bias, 1.weight, 1.bias and 5 more"
    )


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_damaged_file(file, keep):
    file.write_bytes(file.read_bytes()[:keep])
    assert untouched(net(), file).startswith(f'model.weights = "{file}": damaged, or not a safetensors file: ')


def test_no_file(tmp_path):
    assert untouched(net(), tmp_path / "x.safetensors") == (
        f'model.weights = "{tmp_path / "x.safetensors"}": there is no such file'
    )
    assert untouched(net(), tmp_path).endswith("there is no such file")


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_a_pickle_is_not_read_and_the_way_out_works(tmp_path, trained, suffix, monkeypatch):
    pickled = tmp_path / f"start{suffix}"
    torch.save(trained.state_dict(), pickled)
    first, *lines = untouched(net(), pickled).splitlines()
    assert "is a pickle, which could run anything when read" in first
    assert len(lines) == 2
    monkeypatch.chdir(tmp_path)
    exec("\n".join(lines), {})
    module = load_weights(net(), "start.safetensors")
    assert torch.equal(module[0].weight, trained[0].weight)
