from launch import build
from backends.accept import accept


def test_x(engine):
    m = engine.found.get("knowledge_map")
    r = accept(m, {"model": "tiny", "domain": "symptom", "projection": "pca"}, engine.known)
    s = engine.runner.submit(m, r).result()
    print(s.counts)
