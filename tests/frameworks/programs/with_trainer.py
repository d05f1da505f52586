"""An ordinary Trainer of transformers on a small language model made here, with gradient accumulation."""

import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Numbers(torch.utils.data.Dataset):
    def __init__(self, count):
        drawn = torch.Generator().manual_seed(5)
        self.rows = torch.randint(0, 20, (count, 12), generator=drawn)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


def main(out):
    set_seed(3)
    shape = GPT2Config(
        vocab_size=20, n_positions=12, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = GPT2LMHeadModel(shape)
    wishes = TrainingArguments(
        output_dir=out,
        max_steps=16,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=1e-3,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        seed=3,
    )
    Trainer(model=model, args=wishes, train_dataset=Numbers(128)).train()
    torch.save({"model": model.state_dict(), "rng": torch.get_rng_state()}, out + "/end.pt")


main(sys.argv[1])
