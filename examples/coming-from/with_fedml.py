"""FedAvg with FedML: logistic regression on 4000 digits, with the numbers of with_fedml.yaml."""

import copy

import fedml
from fedml.ml.trainer.my_model_trainer_classification import ModelTrainerCLS
from fedml.simulation.sp.fedavg import fedavg_api
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def digits(name):
    with np.load("digits.npz") as file:
        return torch.tensor(file[f"{name}_x"], dtype=torch.float32) / 255, torch.tensor(file[f"{name}_y"])


def zeros():
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


class Trainer(ModelTrainerCLS):
    """Hands out copies: FedML's own hands out the tensors that it trains on."""

    def get_model_params(self):
        return copy.deepcopy(super().get_model_params())


fedavg_api.create_model_trainer = Trainer  # else clients of round 1 start where the one before them ended

options = fedml.init()
samples = {i: TensorDataset(*digits(f"worker_{i}")) for i in range(options.client_num_in_total)}
loaders = {i: DataLoader(samples[i], batch_size=options.batch_size, shuffle=True) for i in samples}
sizes = {i: len(samples[i]) for i in samples}
x, y = digits("test")
test = DataLoader(TensorDataset(x, y), batch_size=1000)
dataset = [sum(sizes.values()), len(y), None, test, sizes, loaders, dict.fromkeys(samples, test), 10]
model = zeros()
fedml.FedMLRunner(options, torch.device("cpu"), dataset, model).run()
print(f"accuracy {(model(x).argmax(1) == y).float().mean():.4f}")
