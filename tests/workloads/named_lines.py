"""Functions that are named by the line of a template that calls them."""
import time

functions = {}


def use():
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    return True


def named(template, text):
    """Puts the place of each call into its name."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        name = "at_%s_%d" % (template.replace(".", "_"), number)
        made = {"use": use}
        exec("def %s():\n    return use()" % name, made)
        functions[name] = made[name]
        lines.append(line.replace("at()", name + "()"))
    return "\n".join(lines)
