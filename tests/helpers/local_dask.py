"""Cluster of Dask on this machine."""

import contextlib

import pytest


@contextlib.contextmanager
def local_cluster(**options):
    """Start a cluster; yield it and a client, which is not the default one."""
    distributed = pytest.importorskip("distributed")
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(**quiet, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client
