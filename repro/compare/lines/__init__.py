"""Lays two traces side by side: trainings, processes, steps, snapshots; how a resumed one goes on."""
