"""An ordinary Lightning training with gradient accumulation and a validation loop."""

import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))

    def training_step(self, batch, _index):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def validation_step(self, batch, _index):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=0.01)


def main(out):
    lightning.seed_everything(3, verbose=False)
    x = torch.randn(128, 8)
    y = x[:, :3].argmax(1)
    train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=8, shuffle=True)
    check = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=16)
    model = Classifier()
    trainer = lightning.Trainer(
        max_epochs=2,
        accumulate_grad_batches=2,
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=out,
    )
    trainer.fit(model, train, check)
    torch.save({"model": model.state_dict(), "rng": torch.get_rng_state()}, out + "/end.pt")


main(sys.argv[1])
