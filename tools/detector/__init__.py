"""Making the detector of `webagent.vision.detector`: pictures, training, measuring."""
