# The workbench and its API: `docker build -t synthesis . && docker run -e SYNTHESIS_TOKEN=... -p 127.0.0.1:8765:8765 synthesis`
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends cargo && rm -rf /var/lib/apt/lists/*
COPY . /source
# Prepared rule packs: no container spends its first seconds on them.
ENV SYNTHESIS_PREPARE=1
RUN python -m venv /opt/synthesis && /opt/synthesis/bin/pip install --no-cache-dir '/source[serve,sql,parquet,zst]'

FROM python:3.12-slim
COPY --from=build /opt/synthesis /opt/synthesis
# Nobody in particular: the server needs to write its history and the cache of rules, and nothing else.
RUN useradd --create-home --uid 10001 synthesis && install -d -o synthesis -g synthesis /data
USER synthesis
WORKDIR /data
VOLUME /data
ENV PATH=/opt/synthesis/bin:$PATH PYTHONUNBUFFERED=1 SYNTHESIS_CACHE=/data/cache
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
# Beyond this machine a token is asked for: SYNTHESIS_TOKEN, at least 16 characters.
ENTRYPOINT ["synthesis", "serve", "--host", "0.0.0.0"]
CMD ["--workers", "2"]
