"""What happens around a run: progress, who may stop it, and checkpoints.

A run is one fit, one choice of k or one proof. Every step of it gets one value, the `Run`, which
holds two things: the monitor, which is told of every unit of work, and the checkpoint, which stores
what took long. Nothing here computes anything from rows, and nothing here knows what a fit is.

Modules
-------
monitor             `Monitor`: clock, log and callback; `Plateau`: stop when passes gain too little
progress_lines      what ``verbose=1`` prints if the program shows no log
interrupts          Ctrl-C as a wish to stop
deadlines           a time limit that is checked between blocks of work
checkpoint          `Run`: monitor and checkpoint of one run; `Checkpoint`: which values wait, when
                    they are written, how they are read
checkpoint_folder   a folder of named parts that one process may use at a time
part_files          `Part`: a frozen value as a document and arrays, and as a file with a checksum

Promises
--------
- A run that is stopped ends after the unit of work that it is in, and keeps its best result.
  Callback, time budget and Ctrl-C all set `Monitor.stopped`, which is asked after every unit. The
  first pass of the solver and the lifting are always made, so that a stopped fit is a complete fit.
  A Ctrl-C before the end of that pass raises KeyboardInterrupt, because there is no result yet.
- A run that is killed and started again ends with the same bits. Each part of a checkpoint is
  complete, carries a checksum and the hash of its run, and is true by itself, so the order in which
  parts are written does not matter. A damaged part costs time only: its value is computed again.
- A forged part, whose checksum is right, costs time or another result, and never leads out of
  memory: `Checkpoint.recall` checks types, ranges and the `Shape` of every array by the annotations
  of the value's class, and `projections` and `search` try what follows from it.
- Checkpoints cost little: values wait until 5 s of work would be lost, and until 20 times as long
  as the last write took.
- Without a folder, `Checkpoint` does nothing: steps need not ask whether there is one.

Why it is built so
------------------
A fit is a function of rows, parameters and a key, so little has to be stored: what took long, and
where the present walk or solver stands. The state of a solver is stored before it is decided
whether the solver ends there. A later run makes that decision again from the state
(`Plateau.follow`), so that it does not matter whether the process was killed before or after it.
"""
