"""What Flower runs for every client, in the processes of ray: an own module, so that those import it and keep its data.

WORK_FILE names the work file, THREADS how many threads torch may use in a process.
"""

from functools import cache
import os
from pathlib import Path

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from models import make
import torch
from torch.nn.functional import cross_entropy
from work import Batches, Setting, Steps, Work

app = ClientApp()


@cache
def loaded() -> tuple[Setting, list[Batches], torch.nn.Module, Steps]:
    """All clients' data and one model, once per process: any client may be given to any process in any round."""
    torch.set_num_threads(int(os.environ["THREADS"]))
    work = Work(Path(os.environ["WORK_FILE"]))
    batches = [work.batches(i) for i in range(work.setting.workers)]
    return work.setting, batches, make(work.setting.case, work.setting.seed), Steps()


@app.train()
def train(message: Message, context: Context) -> Message:
    setting, batches, model, _ = loaded()
    mine = batches[int(context.node_config["partition-id"])]
    round_ = int(message.content["config"]["server-round"])
    if mine.t != (round_ - 1) * setting.steps:  # another process did this client's last round
        mine.go_to((round_ - 1) * setting.steps)
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=setting.eta)
    for x, y in mine:
        optimizer.zero_grad()
        cross_entropy(model(x), y).backward()
        optimizer.step()
    reply = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": len(mine.y)})}
    return Message(content=RecordDict(reply), reply_to=message)


@app.query()
def query(message: Message, context: Context) -> Message:
    """Loads the data where that has not happened yet, and tells what this process has done so far."""
    *_, steps = loaded()
    reply = {"metrics": MetricRecord({"process": os.getpid(), "steps": steps.taken})}
    return Message(content=RecordDict(reply), reply_to=message)
