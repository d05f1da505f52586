"""What lets anyone build a bundle with plain `docker build`: Dockerfile, its context, the text for people."""
