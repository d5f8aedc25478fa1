"""Work in numbered pieces, done by other processes: a Dask cluster, or a pool of `concurrent.futures`.

`errand` says what travels, `spreading` hands pieces out and takes results in, `dask` knows how Dask's workers get the work.
"""
