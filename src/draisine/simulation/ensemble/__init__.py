"""Many runs of one model: different parameters, inputs and starts, on all cores, reduced as they are made.

`posing` sorts names, `lane_values` gives the numbers of each run and `sense` judges them; `simulation.start.batch` solves for
the starts, `lanes`, `groups` and `stepping` run them, all in compiled code; `block` takes them from start to end.
`keep` says what stays, `moments` and `folder` gather it (`parquet_chunks`, `zarr_chunks`); `task` is all of it as data, `makers`
are threads or other machines, `conducting` leads.
"""
