ENTER
def made_a(x):
    ENTER
    AT; tip(x)
    LEAVE
AT; made_a(1)
LEAVE
# ---
ENTER
def made_b(x, y):
    ENTER
    AT; tip(y)
    LEAVE
AT; made_b(1, 2)
LEAVE
# ---
ENTER
AT; (lambda: tip(1))()  # via
ANYWHERE
class Executed:
    def __init__(self):
        ENTER
        AT; tip(2)
        LEAVE
AT; Executed()
LEAVE
