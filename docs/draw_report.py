"""Draw the screenshots of the report in visualization.rst: python docs/draw_report.py.

Needs Chromium.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.image import imread, imsave
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from skbayes import BayesSearchCV

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "helpers"))

from chromium import Browser  # noqa: E402

FOLDER = DOCS / "images" / "inspection"
PHONE_HEIGHT = 844


def screenshot(page, top: int, width: int, height: int, scale: float) -> np.ndarray:
    """Return a part of a page as pixels."""
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": scale}
    shot = page.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    return imread(io.BytesIO(base64.b64decode(shot["data"])))


def main() -> None:
    """Run a search, write its report, and take the screenshots."""
    X, y = load_digits(return_X_y=True)
    spaces = {
        "C": (1e-2, 1e3, "log-uniform"),
        "gamma": (1e-4, 1e1, "log-uniform"),
        "kernel": ["rbf", "poly", "sigmoid"],
        "class_weight": [None, "balanced"],
    }
    search = BayesSearchCV(SVC(), spaces, n_iter=25, cv=3, random_state=0)
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        path = search.fit(X[:700] / 16.0, y[:700]).report(
            Path(folder) / "report.html", title="Digits"
        )
        page = browser.open(path, 1280)
        imsave(FOLDER / "report.png", screenshot(page, 0, 1280, 1800, 0.75))
        page = browser.open(path, 390, PHONE_HEIGHT, dark=True)
        plots = page.evaluate("document.querySelector('figure, img').offsetTop") - 60
        views = [
            screenshot(page, top, 390, PHONE_HEIGHT, 0.77) for top in (0, int(plots))
        ]
        gap = np.ones((len(views[0]), 14, views[0].shape[2]), views[0].dtype)
        imsave(FOLDER / "report_phone.png", np.hstack([views[0], gap, views[1]]))


if __name__ == "__main__":
    main()
