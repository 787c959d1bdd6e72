# attn on Debian 12: the first stage builds it, the second has only what it needs to run.
#     docker build -t attn . && docker run --rm -v "$PWD:/models" attn summary model.keras
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates make python3-pip
WORKDIR /src
COPY . .
RUN make setup && cmake -S . -B build -DATTN_TESTS=OFF -DATTN_CUDA=OFF --log-level=WARNING \
 && cmake --build build --target programs --parallel "$(nproc)" \
 && ATTN_BUNDLE=1 cmake --install build --prefix /opt/attn --strip \
 && rm -rf /opt/attn/include /opt/attn/lib/cmake /opt/attn/lib/libattn.so* /opt/attn/share/doc/attn/docs

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/attn /opt/attn
ENV PATH=/opt/attn/bin:$PATH
WORKDIR /models
ENTRYPOINT ["attn"]
