"""Which machine suits a program, and how many of its processors: `parcast match`.

`question` checks what is asked, `outcomes` times each machine, `verdict` compares them.
"""
