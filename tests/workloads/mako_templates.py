"""mako_templates.py SECONDS: renders templates of Mako, which keeps the code it makes of them in a directory. What a line of a template
calls has that line in its name: at_page_html_8() is called by line 8 of page.html."""
import builtins
import os
import sys
import time

from mako.lookup import TemplateLookup
from named_lines import functions, named

TEMPLATES = {
    "page.html": """<%inherit file="base.html"/>
<%namespace name="macros" file="macros.html"/>
<%!
def helper():
    return at()
%>
<%def name="row(p)">
  ${at()}
  <%def name="inner()">
    ${at()}
  </%def>
  ${inner()}
  ${caller.body() if caller else at()}
</%def>
<%block name="head">
  ${at()}
</%block>

% for p in products:
  ${row(p)}
  ${macros.cell(p)}
  <%self:row p="${p}">
    ${at()} ${helper()}
  </%self:row>
% endfor
<%
  found = [at() for p in products]
  at()
%>
<%block>
  ${at()}
</%block>
<%include file="part"/>
% if at():
  x
% endif
""",
    "base.html": "<html>\n<%block name=\"head\"/>\n${at()}\n${self.body()}\n</html>",
    "macros.html": "\n<%def name=\"cell(p)\">\n<td>\n${at()}</td>\n</%def>\n",
    "part": "<i>\n${at()}\n</i>",
}
FURTHER = "d\u00e9j\u00e0"  # a directory

os.mkdir(FURTHER)
for name, text in TEMPLATES.items():
    path = os.path.join(FURTHER, name) if name == "macros.html" else name
    with open(path, "w") as file:
        file.write(named(name, text))
    os.utime(path, (time.time() - 3600,) * 2)
vars(builtins).update(functions)  # for what a <%! %> defines
lookup = TemplateLookup([".", FURTHER], module_directory="made")
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    lookup.get_template("page.html").render(products=[1, 2])
