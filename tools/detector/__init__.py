"""Making the detector of `webagent.vision.engines`: pictures, training, measuring."""
