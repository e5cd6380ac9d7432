"""Boosted trees, whose loops run in threads of OpenMP, and their validation."""

import sys
import time

from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_score

seconds = float(sys.argv[1])
data, classes = make_classification(n_samples=3000, n_features=20, random_state=1)
while time.process_time() < seconds:
    cross_val_score(HistGradientBoostingClassifier(max_iter=5), data, classes, cv=3)
