"""Fits two models, and says how long each took."""
import time

import lightgbm
import numpy
from sklearn.ensemble import HistGradientBoostingClassifier

random = numpy.random.default_rng(1998)
x = random.standard_normal((20_000, 20))
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0.3).astype(int)
for model in HistGradientBoostingClassifier(max_iter=60), lightgbm.LGBMClassifier(verbose=-1):
    start = time.perf_counter()
    score = model.fit(x, y).score(x, y)
    print(f"{type(model).__name__}: {time.perf_counter() - start:.2f} s, score {score:.3f}")
