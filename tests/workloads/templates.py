"""templates.py SECONDS: renders templates of Jinja. What a line of a template calls has that line in its name: at_page_html_6() is
called by line 6 of page.html."""
import asyncio
import os
import sys
import time

import jinja2
from named_lines import functions, named

TEMPLATES = {
    "page.html": """{% extends "base.html" %}
{% import "macros.html" as macros %}
{% block title %}{{ at() }}{% endblock %}

{% macro row(p) %}
  <td>{{ at() }}</td>
  {{ caller() if caller else at() }}
{% endmacro %}

{% block body %}
{% for p in products if at() %}
  {{ row(p) }}
  {{ macros.cell(p) }}
  {% call row(p) %}
    {{ at() }}
  {% endcall %}
{% endfor %}

{% set total = at() %}
{% for p in tree recursive %}
  {{ at() }}{{ loop(p) }}
{% endfor %}
{% include "part.html" %}
{{ text() }}
{% endblock %}
""",
    "base.html": "<html>\n{% block title %}{% endblock %}\n{{ at() }}\n{% block body %}{% endblock %}\n{% if at() %}{% endif %}\n</html>",
    "macros.html": "\n{% macro cell(p) -%}\n<td>\n{{ at() }}</td>\n{%- endmacro %}\n",
    "part.html": "<i>\n{{ at() }}\n</i>",
}
TEXT = "one\n{{ at() }}\nthree\n{% for p in products %}\n{{ at() }}{% endfor %}"

for name, text in TEMPLATES.items():
    with open(name, "w") as file:
        file.write(named(name, text))
    os.utime(name, (time.time() - 3600,) * 2)
text = named("text", TEXT)
end = time.process_time() + float(sys.argv[1])
for asynchronous in False, True:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader("."), enable_async=asynchronous)
    environment.globals.update(functions)
    part = environment.from_string(text)
    arguments = {"products": [1, 2], "tree": [[[]], []]}
    while time.process_time() < end - (0 if asynchronous else float(sys.argv[1]) / 2):
        page = environment.get_template("page.html")
        if asynchronous:
            asyncio.run(page.render_async(arguments, text=part.render_async))
        else:
            page.render(arguments, text=lambda: part.render(arguments))
