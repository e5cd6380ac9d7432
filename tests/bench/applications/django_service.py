"""Pages of Django: queries by its models, templates, forms."""

import os
import sys

import django
from django.conf import settings

TEMPLATE = """{% for book in books %}<li class="{% cycle 'odd' 'even' %}">{{ book.title|title }}, {{ book.pages|floatformat:1 }}
{% if book.pages > 200 %}long{% endif %}</li>{% endfor %}"""
settings.configure(
    ROOT_URLCONF=__name__,
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="s",
    LOGGING_CONFIG=None,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"books.html": TEMPLATE})]},
        }
    ],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.security.SecurityMiddleware"],
)
django.setup()

from django import forms  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.shortcuts import render  # noqa: E402
from django.urls import path  # noqa: E402


class Book(models.Model):
    title = models.CharField(max_length=100)
    pages = models.IntegerField()

    class Meta:
        app_label = "shop"


class Order(forms.Form):
    title = forms.CharField(max_length=20)
    pages = forms.IntegerField(min_value=1)


def books():
    """The database is in the memory of each worker, and made there."""
    if "shop_book" not in connection.introspection.table_names():
        with connection.schema_editor() as editor:
            editor.create_model(Book)
        Book.objects.bulk_create(Book(title=f"book {n}", pages=n) for n in range(400))
    return Book.objects


def page(request):
    return render(request, "books.html", {"books": books().filter(pages__gt=180).order_by("title")[:60]})


def sums(request):
    found = books().aggregate(models.Avg("pages"), models.Max("pages"))
    return JsonResponse({"sums": found, "first": list(books().values("id", "title")[:100])})


def order(request):
    form = Order({"title": "a book", "pages": "12"})
    return JsonResponse({"valid": form.is_valid(), "form": form.as_p()})


urlpatterns = [path("a", page), path("b", sums), path("c", order)]
app = get_wsgi_application()
