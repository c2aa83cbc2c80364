// The SharedWorker: one stream for all tabs of a browser. HTTP/1.1 allows six connections per
// origin; with one stream per tab, the seventh tab would hang.
import { StreamSource, type StreamMessage } from "./stream-source";

const ports = new Set<MessagePort>();
const stream = new StreamSource((message) => {
  for (const port of ports) port.postMessage(message);
});

const scope = self as unknown as { onconnect: (event: MessageEvent) => void };
scope.onconnect = (event) => {
  const port = event.ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message: MessageEvent<string>) => {
    if (message.data === "restart") stream.restart();
    if (message.data === "close") {
      ports.delete(port);
      if (!ports.size) stream.stop();
    }
    if (message.data === "open") {
      ports.add(port);
      stream.start();
    }
  };
  port.postMessage({ type: "state", state: stream.state } satisfies StreamMessage);
  stream.start();
};
