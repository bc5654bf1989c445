"""FedAvg with Flower: logistic regression on 4000 digits at 4 clients, 15 rounds of one local epoch."""

import os
from pathlib import Path

os.environ |= {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

CLIENTS, ROUNDS, EPOCHS, BATCH, ETA = 4, 15, 1, 50, 0.1
DIGITS = Path("digits.npz").resolve()  # clients run in processes with other working directories


def digits(name):
    with np.load(DIGITS) as file:
        return torch.tensor(file[f"{name}_x"], dtype=torch.float32) / 255, torch.tensor(file[f"{name}_y"])


def zeros():
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


client = ClientApp()
server = ServerApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    model = zeros()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    samples = TensorDataset(*digits(f"worker_{context.node_config['partition-id']}"))
    optimiser = torch.optim.SGD(model.parameters(), lr=ETA)
    for _ in range(EPOCHS):
        for x, y in DataLoader(samples, batch_size=BATCH, shuffle=True):
            optimiser.zero_grad()
            cross_entropy(model(x), y).backward()
            optimiser.step()
    reply = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": len(samples)})}
    return Message(content=RecordDict(reply), reply_to=message)


@server.main()
def serve(grid: Grid, context: Context) -> None:
    strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_available_nodes=CLIENTS)
    result = strategy.start(grid, ArrayRecord(zeros().state_dict()), num_rounds=ROUNDS)
    model = zeros()
    model.load_state_dict(result.arrays.to_torch_state_dict())
    x, y = digits("test")
    print(f"accuracy {(model(x).argmax(1) == y).float().mean():.4f}")


if __name__ == "__main__":
    run_simulation(server, client, num_supernodes=CLIENTS)
