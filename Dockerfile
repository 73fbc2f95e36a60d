# The service. Memory is in /data, or wherever RECOLLECT_STORE points to.
FROM python:3.13-slim
WORKDIR /app
COPY requirements.lock pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir uv \
 && uv pip install --system --no-cache --compile-bytecode --constraint requirements.lock '.[server,postgres,cli,local,pdf]' \
 && useradd --create-home recollect \
 && install -d -o recollect /data
USER recollect
ENV RECOLLECT_DATA_DIR=/data
VOLUME /data
EXPOSE 8642
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8642/healthz', timeout=5)"]
ENTRYPOINT ["recollect"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8642"]
