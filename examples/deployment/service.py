"""
A tuned model behind an HTTP service
====================================

This example tunes a classifier, saves it with joblib, and loads it in a small HTTP
service from Python's standard library. A client sends one request with several rows.
"""

import json
import tempfile
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.neighbors import KNeighborsClassifier

from skbayes import BayesSearchCV

# %%
# Tune and save the model
# -----------------------
#
# The data are the first two features of 569 tumors. The file contains only the refitted
# classifier, so that the service does not need skbayes. An exception is the default
# pipeline of :class:`~skbayes.TextRepresentationSearchCV`, whose steps are classes of
# skbayes. Load only files that you trust, because a pickle can run any code.
X, y = load_breast_cancer(return_X_y=True)
space = {"n_neighbors": (1, 200, "log-uniform"), "p": (1.0, 3.0)}
search = BayesSearchCV(KNeighborsClassifier(), space, n_iter=10, random_state=0)
search.fit(X[:, :2], y)
path = tempfile.mkdtemp() + "/model.joblib"
joblib.dump(search.best_estimator_, path)
print(f"accuracy {search.best_score_:.3f} with {search.best_params_}")

# %%
# Start the service
# -----------------
#
# The service receives rows as JSON, and returns the probability of the class "benign"
# for each row. It listens on a free port of this machine, in a separate thread.
loaded = joblib.load(path)


class Handler(BaseHTTPRequestHandler):
    """Handler of POST requests."""

    def do_POST(self):
        """Predict the rows of the request."""
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(loaded.predict_proba(rows)[:, 1].tolist()).encode())

    def log_message(self, *args):
        """Print no log."""


server = HTTPServer(("127.0.0.1", 0), Handler)
Thread(target=server.serve_forever, daemon=True).start()

# %%
# Send a request
# --------------
#
# The rows of the request form a grid of the two features.
radius, texture = np.meshgrid(np.linspace(6, 29, 40), np.linspace(9, 40, 40))
rows = np.column_stack([radius.ravel(), texture.ravel()])
client = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
client.request("POST", "/", body=json.dumps(rows.tolist()))
probabilities = json.load(client.getresponse())
print(f"{len(probabilities)} predictions, the first is {probabilities[0]:.3f}")

# %%
# Stop the service and draw the predictions
# -----------------------------------------
server.shutdown()
server.server_close()
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
filled = axes.contourf(radius, texture, np.reshape(probabilities, radius.shape))
figure.colorbar(filled, label="probability of benign")
axes.set(xlabel="mean radius", ylabel="mean texture", title="Responses of the service")
