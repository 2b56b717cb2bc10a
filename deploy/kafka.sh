#!/bin/sh
# Runs the Kafka broker of docker-compose.yaml; at first it formats the broker's storage.
set -eu
here=$(dirname "$0")
kafka() { java -cp "$KAFKA_JARS/*" "$@"; }
if [ ! -f "$KAFKA_DATA/log/meta.properties" ]; then
    kafka kafka.tools.StorageTool format --cluster-id "$(kafka kafka.tools.StorageTool random-uuid)" \
        --config "$here/kafka.properties" --standalone
fi
exec java -Xmx512m -cp "$KAFKA_JARS/*" kafka.Kafka "$here/kafka.properties"
