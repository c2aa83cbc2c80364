# Creates a CA and a certificate for the PostgreSQL server of the playground, and switches TLS on there.
# A managed database has its certificate already; its provider publishes the CA.
set -euo pipefail
cd "$(mktemp -d)"
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out /tmp/lynq/ca.crt -days 30 -subj "/CN=playground CA" 2>/dev/null
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj "/CN=${1:-127.0.0.1}" 2>/dev/null
echo "subjectAltName=IP:${1:-127.0.0.1}" > server.ext
openssl x509 -req -in server.csr -CA /tmp/lynq/ca.crt -CAkey ca.key -CAcreateserial -extfile server.ext -out server.crt -days 30 2>/dev/null
for file in server.key server.crt; do
  # The data directory belongs to the server, so the server itself writes the files.
  psql -qc "COPY (SELECT '$(base64 -w0 $file)') TO PROGRAM 'umask 077; base64 -d > $file'"
done
psql -qc "ALTER SYSTEM SET ssl = on" -c "SELECT pg_reload_conf()" > /dev/null
