"""A WSGI application whose requests cost little, so that what is added to them shows; /truth tells its process."""

import os


def page(name):
    rows = [f"<li>{name} {number * number}</li>" for number in range(60)]
    return f"<ul>{''.join(rows)}</ul>".encode()


def app(environ, start_response):
    body = str(os.getpid()).encode() if environ["PATH_INFO"] == "/truth" else page("row")
    start_response("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))])
    return [body]
