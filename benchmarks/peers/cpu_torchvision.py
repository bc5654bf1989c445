"""Lets torchvision be imported beside a CPU build of torch. Import this before anything that imports torchvision.

torchvision's wheels are built against CUDA. Beside a CPU build of torch its compiled operators do not load, and its
import fails where it attaches shape rules to two of them. Declared here, the import passes; no peer calls them, and
whoever did would be told that they have no implementation.
"""

import torch

_OPERATORS = torch.library.Library("torchvision", "DEF")  # must stay referenced: collected, it takes them away again
_OPERATORS.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
_OPERATORS.define("qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
