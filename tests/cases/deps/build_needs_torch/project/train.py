import flash_attn
import torch

print(torch.__version__, flash_attn.__version__)
