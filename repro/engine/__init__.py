"""The one border to container engines, behind one small Protocol, with a fake beside it."""
