import { Hub } from "./Hub.js"

/** The hub as a worker that all pages of a browser share. */
const hub = new Hub()

// Boundary: the types of the page are those of a window, and this runs as a shared worker.
const worker = globalThis as unknown as { onconnect: (event: MessageEvent) => void }

worker.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return
  const page = hub.attach((told) => port.postMessage(told))
  port.onmessage = ({ data }) => {
    if (data === "bye") page.close()
    else page.wish(data)
  }
}
