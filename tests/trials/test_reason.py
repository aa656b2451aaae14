"""Why programs failed, as what they and their launchers wrote says it."""

import pytest

from parcast.trials.reason import why_in

GROMACS = """
-------------------------------------------------------
Program:     gmx mdrun, version 2023.3
Source file: src/gromacs/domdec/domdec.cpp (line 2254)

Fatal error:
There is no domain decomposition for 4 ranks that is compatible with the given
box and a minimum cell size of 0.68375 nm
Change the number of ranks or mdrun option -rdd or -dds

For more information and tips for troubleshooting, please check the GROMACS
website at http://www.gromacs.org/Documentation/Errors
-------------------------------------------------------
"""
SLOTS = """
--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 8
slots that were requested by the application:

  ./app

Either request fewer procs for your application, or make more slots
available for use.
--------------------------------------------------------------------------
"""
NOTHING_TO_RUN = """
--------------------------------------------------------------------------
mpirun was unable to find the specified executable file, and therefore
did not launch the job.  This error was first reported for process
rank 0; it may have occurred for other processes as well.

NOTE: A common cause for this error is misspelling a mpirun command
      line parameter option (remember that mpirun interprets the first
      unrecognized command line token as the executable).
--------------------------------------------------------------------------
"""
AS_ROOT = """
mpiexec has detected an attempt to run as root.

Running as root is *strongly* discouraged as any mistake (e.g., in
defining TMPDIR) or bug can result in catastrophic damage to the OS
file system, leaving your system in an unusable state.

You can override this protection by adding the --allow-run-as-root option
"""
SIGNAL = """
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   EXIT CODE: 6
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
TWICE = (
    2 * "[proxy:0@a] HYDU_create_process: execvp error on file ./app (No such file or directory)\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "/home/somebody/programs/solver/main.py", line 20, in <module>
    solve()
ValueError: cells must be a multiple of ranks
"""


@pytest.mark.parametrize(
    ("output", "says"),
    [
        (
            GROMACS,
            "Fatal error: There is no domain decomposition for 4 ranks that is compatible with "
            "the given box and a minimum cell size of 0.68375 nm",
        ),
        (
            SLOTS,
            "There are not enough slots available in the system to satisfy the 8 slots that were "
            "requested by the application",
        ),
        (
            NOTHING_TO_RUN,
            "mpirun was unable to find the specified executable file, and therefore did not "
            "launch the job. This error was first reported for process rank 0; it may have "
            "occurred for other processes as well",
        ),
        (AS_ROOT, "mpiexec has detected an attempt to run as root"),
        (SIGNAL, "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Terminated (signal 15)"),
        (TWICE, TWICE.splitlines()[0]),
        (TRACEBACK, "ValueError: cells must be a multiple of ranks"),
        ("Error:\n", "Error"),
        ("reading the mesh\nnothing to do", "nothing to do"),
        ("----\n\n", ""),
    ],
)
def test_a_whole_phrase_is_given_and_no_more(output, says):
    assert why_in(output) == says
